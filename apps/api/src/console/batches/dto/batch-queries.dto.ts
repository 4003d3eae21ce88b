import { BATCH_ENDPOINTS, type BatchEndpoint } from '#batches/batch.js';
import { KnownFiltersOnly } from '../../../common/contract-fields.js';
import { DEFAULT_LIMIT, PageLimit, QueryChoice, QueryText } from '../../../common/query-fields.js';

/** A page of batches. */
@KnownFiltersOnly()
export class BatchPageQuery {
  @PageLimit()
  readonly limit: number = DEFAULT_LIMIT;

  @QueryText()
  readonly after?: string;
}

/** What the lines of a new batch request. */
@KnownFiltersOnly()
export class NewBatchQuery {
  @QueryChoice(BATCH_ENDPOINTS)
  readonly endpoint: BatchEndpoint = '/v1/images/generations';
}
