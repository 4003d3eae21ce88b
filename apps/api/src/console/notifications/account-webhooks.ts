import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { END_EVENTS, type WebhookEventType } from '#contract/webhook-event.js';
import { EgressConfig } from '#egress/egress.config.js';
import { receiverUrlProblem } from '#egress/public-url.js';
import { AttemptLimiter } from '#limits/attempt-limiter.js';
import type { LoggedDelivery } from '#notifications/deliveries/delivery-log.js';
import { DeliveryRecords } from '#notifications/deliveries/delivery-records.js';
import { EnqueueDeliveries } from '#notifications/deliveries/enqueue-deliveries.js';
import { NewDeliveries } from '#notifications/deliveries/new-deliveries.js';
import { shownUrl, EndpointStore, type WebhookEndpoint } from '#notifications/endpoint-store.js';
import { WebhookSecretStore } from '#notifications/secret-store.js';
import type { EndpointChangeBody, NewEndpointBody } from './dto/webhook-bodies.dto.js';
import {
  endpointView,
  secretView,
  type EndpointListView,
  type EndpointView,
  type ResentView,
  type SecretListView,
} from './dto/webhook-views.dto.js';

/** Per minute and account, because each is a request to a third party that a user sends at will. */
const TESTS = 10;
const RESENDS = 30;
/** Deliveries that one request sends again. */
const BATCH = 100;
const BATCHES = 60;
const HOUR_MS = 3_600_000;

/** A delivery of the account to send again. */
type ToResend = Pick<LoggedDelivery, 'id' | 'taskId' | 'endpointId'>;

/** Details of a delivery for the audit log. */
interface Resent {
  readonly taskId: string | null;
  readonly url: string | undefined;
}

/** An account's webhooks, as its users manage them. Anything of another account is `not_found`. */
@Injectable()
export class AccountWebhooks {
  constructor(
    private readonly endpointStore: EndpointStore,
    private readonly secretStore: WebhookSecretStore,
    private readonly records: DeliveryRecords,
    private readonly deliveries: NewDeliveries,
    private readonly egress: EgressConfig,
    private readonly queue: EnqueueDeliveries,
    private readonly attempts: AttemptLimiter,
  ) {}

  /** `withSecrets`: with whole URLs, whose user information and query may contain tokens. */
  async endpoints(accountId: string, withSecrets: boolean): Promise<EndpointListView> {
    const endpoints = await this.endpointStore.list(accountId);
    const records = await this.records.ofEndpoints(
      accountId,
      endpoints.map(({ id }) => id),
    );
    const recordOf = (id: string) => records.find(({ endpointId }) => endpointId === id);
    const views = endpoints.map((endpoint) => endpointView(endpoint, recordOf(endpoint.id)));
    return { data: withSecrets ? views : views.map((view) => ({ ...view, url: shownUrl(view.url) })) };
  }

  /**
   * Throws AppError `invalid_value` for a URL that is not public or not https, and `account_limit_reached` when the
   * account has its maximum number of endpoints.
   */
  async add(accountId: string, { url, events }: NewEndpointBody): Promise<EndpointView> {
    const problem = receiverUrlProblem(url, this.egress);
    if (problem !== undefined) throw new AppError('invalid_value', problem, { param: 'url' });
    const id = await this.endpointStore.add(accountId, url, events ?? END_EVENTS);
    return endpointView(await this.endpoint(accountId, id), undefined);
  }

  async endpoint(accountId: string, id: string): Promise<WebhookEndpoint> {
    return (await this.endpointStore.find(accountId, id)) ?? noEndpoint();
  }

  async change(accountId: string, id: string, { events, active }: EndpointChangeBody): Promise<EndpointView> {
    if (events !== undefined && events !== null) await this.setEvents(accountId, id, events);
    if (active === true) await this.endpointStore.enable(accountId, id);
    if (active === false) await this.endpointStore.disable(accountId, id);
    const [record] = await this.records.ofEndpoints(accountId, [id]);
    return endpointView(await this.endpoint(accountId, id), record);
  }

  async remove(accountId: string, id: string): Promise<void> {
    if (!(await this.endpointStore.remove(accountId, id))) noEndpoint();
  }

  /** Returns the id of the delivery. Throws AppError: `invalid_value` for a disabled endpoint, `rate_limit_exceeded`. */
  async test(accountId: string, id: string): Promise<string> {
    await this.attempts.admit(`webhook-tests:${accountId}`, TESTS, 60);
    const entry = await this.deliveries.addTest(accountId, id);
    if (entry === undefined) {
      await this.endpoint(accountId, id);
      throw new AppError('invalid_value', 'The endpoint is disabled. Enable it to test it.');
    }
    await this.queue.enqueue(entry);
    return entry.deliveryId;
  }

  async secrets(accountId: string): Promise<SecretListView> {
    return { data: (await this.secretStore.valid(accountId)).map(secretView) };
  }

  async rotate(accountId: string, overlapHours: number): Promise<SecretListView> {
    await this.secretStore.rotate(accountId, overlapHours * HOUR_MS);
    return await this.secrets(accountId);
  }

  /** Throws AppError: `invalid_value` while an attempt is running, `rate_limit_exceeded`. */
  async resend(accountId: string, { id, taskId, endpointId }: ToResend): Promise<Resent> {
    await this.attempts.admit(`webhook-resends:${accountId}`, RESENDS, 60);
    const entry = await this.deliveries.resend(accountId, id);
    if (entry === undefined) throw new AppError('invalid_value', 'A delivery attempt is already in progress.');
    await this.queue.enqueue(entry);
    const endpoint = endpointId === null ? undefined : await this.endpointStore.find(accountId, endpointId);
    return { taskId, url: endpoint?.url };
  }

  /**
   * Sends a batch of an endpoint's failed deliveries again. Throws AppError: `invalid_value` for a disabled endpoint,
   * `rate_limit_exceeded`.
   */
  async resendFailed(accountId: string, { id, disabledAt }: WebhookEndpoint, after?: string): Promise<ResentView> {
    if (disabledAt !== null) {
      throw new AppError('invalid_value', 'The endpoint is disabled. Enable it to send to it.');
    }
    await this.attempts.admit(`webhook-batches:${accountId}`, BATCHES, 60);
    const { count, next } = await this.deliveries.resendFailed(accountId, id, { after, limit: BATCH });
    if (count > 0) await this.queue.enqueueNext(accountId);
    return { resent: count, next };
  }

  private async setEvents(accountId: string, id: string, events: readonly WebhookEventType[]): Promise<void> {
    if (!(await this.endpointStore.setEvents(accountId, id, [...new Set(events)]))) noEndpoint();
  }
}

function noEndpoint(): never {
  throw new AppError('not_found', 'Endpoint not found.');
}
