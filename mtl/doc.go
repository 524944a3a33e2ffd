// Package mtl is the learning problem of "Federated Multi-Task Learning" (Smith
// et al., NIPS 2017): m tasks tied together by a coupling M,
//
//	P(W) = sum_t c_t sum_i loss(w_t . x_ti, y_ti) + R(W),   R(W) = 1/2 tr(W M^-1 W^T)
//	D(a) = sum_t c_t sum_i loss*(-a_ti) + 1/2 tr(V M V^T),  v_t = c_t X_t^T a_t,  w(a) = V M
//
// (eq. obj and objDual; D is minimized, so that P + D >= 0). The package owns losses,
// regularizers and their Omega updates, couplings, sigma', the objectives, the local
// solver of the subproblem and the central solver of the reference optimum. Row t of W is
// w_t, row t of V is v_t.
//
// The package must not know of time, devices, links or rounds. It says "device" for a
// block of rows: a task has one device or several.
package mtl
