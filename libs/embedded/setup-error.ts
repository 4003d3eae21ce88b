/** A problem that the operator can fix. The message is a full sentence that says how, and is shown without a stack. */
export class SetupError extends Error {
  override readonly name = 'SetupError';
}
