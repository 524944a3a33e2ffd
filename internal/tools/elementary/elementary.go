// Package elementary is the exponential, the logarithm and their like with the
// same bits on every platform. Those of package math are in assembly on some
// architectures, use fused multiply-adds where the processor has them, and so
// differ in the last place; math.Sqrt, math.Floor and math.FMA are exact and need
// no twin here.
//
// The methods are those of FreeBSD's msun (Exp, Log) and Cephes (Sin, Cos), every
// product rounded before it is added. Errors are below one unit in the last place,
// unless a function's comment says otherwise.
package elementary
