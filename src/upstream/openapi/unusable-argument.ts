/** What says that arguments cannot be sent? */

/** The arguments cannot be sent; the message tells the model which one, and why. */
export class UnusableArgument extends Error {
  override readonly name = "UnusableArgument";
}
