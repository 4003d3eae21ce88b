import { Injectable } from '@nestjs/common';
import { AlertEventRepository } from '#notifications/alerts/alert-event.repository.js';
import { AlertRuleRepository, type AlertRule } from '#notifications/alerts/alert-rule.repository.js';
import { alertKindsFor, ALERTS } from '#notifications/alerts/alert-settings.js';
import type { Session } from '#accounts/session-store.js';
import { AppError } from '#contract/app-error.js';
import { EndpointStore } from '#notifications/endpoint-store.js';
import type { AlertPageQuery, AlertRuleBody } from './dto/alert-bodies.dto.js';
import { alertView, type AlertPage, type AlertView } from './dto/alert-views.dto.js';

/** An account's alerts and their rules, as its admins manage them. Anything of another account is `not_found`. */
@Injectable()
export class AccountAlerts {
  constructor(
    private readonly ruleRows: AlertRuleRepository,
    private readonly events: AlertEventRepository,
    private readonly endpoints: EndpointStore,
  ) {}

  async rules(accountId: string, operator: boolean): Promise<AlertRule[]> {
    return await this.ruleRows.list(accountId, alertKindsFor(operator));
  }

  /** Returns the rule before and after. Throws AppError `not_found` and `invalid_value`. */
  async setRule(
    accountId: string,
    operator: boolean,
    kind: string,
    body: AlertRuleBody,
  ): Promise<{ readonly before: AlertRule; readonly after: AlertRule }> {
    const before = (await this.rules(accountId, operator)).find((rule) => rule.kind === kind);
    if (before === undefined) throw new AppError('not_found', 'Alert not found.');
    const after = {
      ...before,
      enabled: body.enabled ?? before.enabled,
      thresholds: thresholdsOf(before, body.thresholds),
      windowMinutes: body.window_minutes ?? before.windowMinutes,
      minTasks: body.min_tasks ?? before.minTasks,
      holdMinutes: body.hold_minutes ?? before.holdMinutes,
      repeatHours: body.repeat_hours ?? before.repeatHours,
      channelIds: await this.knownChannels(accountId, body.channels ?? before.channelIds),
    };
    await this.ruleRows.save(after);
    if (!after.enabled) await this.events.close(accountId, after.kind);
    return { before, after };
  }

  async history(accountId: string, operator: boolean, { limit, after, state }: AlertPageQuery): Promise<AlertPage> {
    const query = { kinds: alertKindsFor(operator), after, state, limit: limit + 1 };
    const rows = await this.events.list(accountId, query);
    const shown = rows.slice(0, limit);
    const hasMore = rows.length > shown.length;
    return { data: shown.map(alertView), has_more: hasMore, next: hasMore ? (shown.at(-1)?.id ?? null) : null };
  }

  /** Notes that a user takes care of a firing alert. Throws AppError `not_found` when no such alert fires. */
  async acknowledge(
    { accountId, name }: Pick<Session, 'accountId' | 'name'>,
    operator: boolean,
    id: string,
  ): Promise<{ readonly alert: AlertView; readonly changed: boolean }> {
    const found = await this.events.acknowledge(accountId, { id, kinds: alertKindsFor(operator), by: name });
    if (found === undefined) throw new AppError('not_found', 'No such alert is firing.');
    return { alert: alertView(found.alert), changed: found.changed };
  }

  private async knownChannels(accountId: string, ids: readonly string[]): Promise<readonly string[]> {
    if (ids.length === 0) return [];
    const known = (await this.endpoints.channels(accountId)).map(({ id }) => id);
    if (ids.every((id) => known.includes(id))) return [...new Set(ids)];
    throw new AppError('invalid_value', 'Channel not found.', { param: 'channels' });
  }
}

function thresholdsOf(
  { kind, thresholds }: AlertRule,
  wanted: readonly number[] | null | undefined,
): readonly number[] {
  if (wanted === undefined || wanted === null) return thresholds;
  const { most } = ALERTS[kind];
  if (wanted.some((threshold) => threshold > most))
    throw new AppError('invalid_value', `thresholds must be at most ${most}`, { param: 'thresholds' });
  return [...new Set(wanted)].sort((a, b) => a - b);
}
