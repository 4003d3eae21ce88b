import { AUDIT_KINDS, type AuditKind } from '#accounts/audit-actions.js';
import { KnownFiltersOnly } from '../../../common/contract-fields.js';
import { DEFAULT_LIMIT, PageLimit, QueryChoice, QueryText } from '../../../common/query-fields.js';

/** Filters of the audit log. */
@KnownFiltersOnly()
export class AuditFilter {
  @QueryChoice(AUDIT_KINDS)
  readonly kind?: AuditKind;

  /** Id of a user, or `nobody`. */
  @QueryText()
  readonly who?: string;
}

/** The query of a page of the audit log. */
@KnownFiltersOnly()
export class AuditPageQuery {
  @PageLimit()
  readonly limit: number = DEFAULT_LIMIT;

  @QueryChoice(AUDIT_KINDS)
  readonly kind?: AuditKind;

  @QueryText()
  readonly who?: string;

  /** Id of the last entry on the previous page. */
  @QueryText()
  readonly after?: string;
}
