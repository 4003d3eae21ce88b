import { AUDIT_KINDS, type AuditKind } from '#accounts/audit-actions.js';
import { KnownFiltersOnly } from '../../../common/contract-fields.js';
import { DEFAULT_LIMIT, IsoTime, PageLimit, QueryChoice, QueryText } from '../../../common/query-fields.js';

/** Filters of the audit log. */
@KnownFiltersOnly()
export class AuditFilter {
  @QueryChoice(AUDIT_KINDS)
  readonly kind?: AuditKind;

  /** Id of a user, or `nobody`. */
  @QueryText()
  readonly who?: string;

  /** Part of what an entry says (case-insensitive). */
  @QueryText()
  readonly text?: string;

  /** Recorded at or after this time. */
  @IsoTime()
  readonly from?: Date;

  /** Recorded before this time. */
  @IsoTime()
  readonly to?: Date;
}

/** The query of a page of the audit log. */
@KnownFiltersOnly()
export class AuditPageQuery extends AuditFilter {
  @PageLimit()
  readonly limit: number = DEFAULT_LIMIT;

  /** Id of the last entry on the previous page. */
  @QueryText()
  readonly after?: string;
}
