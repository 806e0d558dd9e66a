/** Something in an expression that can never work; its message goes to whoever wrote it. */
export class ExpressionError extends Error {
  override readonly name = "ExpressionError";
}
