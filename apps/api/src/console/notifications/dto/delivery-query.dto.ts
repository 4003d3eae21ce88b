import { DELIVERY_STATES, type DeliveryState } from '#notifications/deliveries/next-step.js';
import { KnownFiltersOnly } from '../../../common/contract-fields.js';
import { DEFAULT_LIMIT, PageLimit, QueryChoice, QueryText } from '../../../common/query-fields.js';

/** The query of the log of deliveries. */
@KnownFiltersOnly()
export class DeliveryPageQuery {
  @PageLimit()
  readonly limit: number = DEFAULT_LIMIT;

  /** Id of the last delivery on the previous page. */
  @QueryText()
  readonly after?: string;

  @QueryChoice(DELIVERY_STATES)
  readonly status?: DeliveryState;

  /** ID of an endpoint. */
  @QueryText()
  readonly endpoint?: string;

  /** Id of a task. */
  @QueryText()
  readonly task?: string;
}
