// Package theory evaluates the convergence analysis of "Federated Multi-Task Learning"
// (Smith et al., NIPS 2017, section 4 and appendix C). It computes the constants of a
// problem under a coupling, the bounds of Theorems 1 and 2 on the rounds of a W update,
// and the corollary on asymptotic convergence, and compares runs with them.
//
// # Weights of the losses
//
// The paper has c_t = 1. Its proofs hold for any c_t > 0: with the subproblem
//
//	G(da) = c sum_i loss*(-a_i - da_i) + <w, dv> + sigma'/2 M_tt |dv|^2,  dv = c X^T da,
//
// of a device and u_i with -u_i a derivative of the loss at w . x_i, mu-strong
// convexity of loss* gives, for every s in [0, 1] (proof of lemma basic-k),
//
//	G(0) - G(s(u-a)) >= s Gap_t + s/2 ((1-s) mu c |u-a|^2 - s sigma' M_tt c^2 |X^T (u-a)|^2)
//
// where Gap_t is the device's part of the duality gap, c included. So
// sigma_t (eq. definitionOfSigmaK) is the largest quotient of these two forms,
//
//	sigma_t = max_a M_tt |c X^T a|^2 / (c |a|^2) = c M_tt lambda_max(X X^T),
//
// and the bracket is not negative for s = mu / (mu + max_t sigma'_t sigma_t).
// This is what c_t = 1 gives for the loss c loss and the dual variables c a.
//
// The same weights turn n, which bounds D(0) - D*, into sum_t c_t n_t, and
// sigma = sum_t sigma_t n_t (eq. sigma) into sum_t sigma_t c_t n_t: under
// "mean" these are m and sum_t sigma_t. Devices that share a
// task have separate terms in all sums and maxima; sigma' accounts for them
// (mtl.Coupling.SigmaPrime). gamma multiplies 1 - Theta-bar as in that lemma.
//
// # Theorem 2 as printed
//
// The printed theorem divides L^2 sigma sigma' by n^2, as Theorem 8 of Ma et al.
// (ICML 2015) does for an objective that is the mean over rows. Eq. obj is a
// sum, and its proof gives 1 in place of n^2, as well as D(a^0) - D(a*) for
// D(a*) - D(a^0): Lipschitz has the derivation. For Theorem 1 the printed
// constants are right.
//
// The package must not know of time, the rounds of a simulation, files or figures.
package theory
