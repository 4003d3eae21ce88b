/** Why somebody who came back from the provider is not let in; the sign-in page has a sentence for each. */
export type RefusalReason =
  /** The browser did not begin here, or too long ago. */
  | 'not_begun'
  /** The provider said no, or the person did there. */
  | 'denied'
  /** What came back does not hold against what was asked for. */
  | 'failed'
  /** The provider does not answer, or not as one. */
  | 'unavailable'
  | 'unverified'
  | 'not_invited'
  /** The e-mail address is of somebody whom the provider knows as another. */
  | 'taken'
  | 'disabled'
  | 'link_used'
  | 'too_often';

/** A sign-in with the provider that ends on the sign-in page. */
export class OpenIdRefusal extends Error {
  override readonly name = 'OpenIdRefusal';
  /** `code` is the field's own word for what went wrong, for the log. */
  constructor(
    readonly reason: RefusalReason,
    readonly code?: string,
  ) {
    super(reason);
  }
}
