import { ApiProperty } from '@nestjs/swagger';
import { HISTORY_MINUTES, totalsOf, type CallCount, type CallTotals, type History } from '#routing/call-history.js';

class CallTotalsView {
  @ApiProperty({ type: 'integer' })
  calls!: number;

  @ApiProperty({ type: 'integer' })
  succeeded!: number;

  @ApiProperty({ type: 'integer', description: 'Failed through the provider’s fault, including the next two.' })
  failed!: number;

  @ApiProperty({ type: 'integer', description: 'Refused with a rate limit (429).' })
  rate_limited!: number;

  @ApiProperty({ type: 'integer', description: 'Not answered in time.' })
  timed_out!: number;

  @ApiProperty({ type: 'integer', description: 'Requests that the provider did not accept, such as blocked prompts.' })
  rejected!: number;

  @ApiProperty({ type: 'integer', description: 'Canceled or interrupted before the provider answered.' })
  canceled!: number;

  @ApiProperty({
    type: 'integer',
    nullable: true,
    description: 'Average duration of successful calls, in milliseconds.',
  })
  average_ms!: number | null;
}

class ModelCallsView extends CallTotalsView {
  @ApiProperty({ description: 'The provider’s name of the model.' })
  model!: string;
}

class CallMinuteView {
  @ApiProperty({ format: 'date-time' })
  time!: string;

  @ApiProperty({ type: 'integer' })
  succeeded!: number;

  @ApiProperty({ type: 'integer' })
  failed!: number;

  @ApiProperty({ type: 'integer', description: 'Rejected and canceled calls.' })
  other!: number;
}

class CallFailureView {
  @ApiProperty({ format: 'date-time' })
  at!: string;

  @ApiProperty({ description: 'The provider’s name of the model.' })
  model!: string;

  @ApiProperty({ example: 'upstream_error' })
  code!: string;

  @ApiProperty({ type: 'integer', nullable: true, description: 'HTTP status. Null if the provider did not answer.' })
  status!: number | null;

  @ApiProperty({ type: String, nullable: true, description: 'What callers are told.' })
  message!: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'The provider’s own message, redacted and shortened.' })
  provider_message!: string | null;
}

/** Calls of images and chats that ended in the last hour, counted where they were made. */
export class RecentCallsView {
  @ApiProperty({
    format: 'date-time',
    description: 'When the current minute began; the hour is this one and 59 before.',
  })
  minute!: string;

  @ApiProperty({ type: CallTotalsView })
  total!: CallTotalsView;

  @ApiProperty({ type: [ModelCallsView], description: 'By model, most calls first.' })
  models!: ModelCallsView[];

  @ApiProperty({ type: [CallMinuteView], description: 'Minutes with calls, oldest first.' })
  minutes!: CallMinuteView[];

  @ApiProperty({ type: 'integer', description: 'Calls that failed since the last successful one.' })
  failing!: number;

  @ApiProperty({ type: CallFailureView, nullable: true, description: 'The last failure of the last 24 hours.' })
  last_failure!: CallFailureView | null;
}

/** The calls of a provider, or of one of its servers. `runOf`: the name or id by which the history has its failures. */
export function recentCallsView(
  { minutes, runs }: History,
  runOf: string,
  isOf: (count: CallCount) => boolean,
): RecentCallsView {
  const own = minutes.map(({ time, counts }) => ({ time, counts: counts.filter(isOf) }));
  const all = own.flatMap(({ counts }) => counts);
  const models = [...new Set(all.map(({ model }) => model))].map((model) => ({
    model,
    ...totalsView(totalsOf(all.filter((count) => count.model === model))),
  }));
  const current = own.at(-1)?.time ?? 0;
  const { failures = 0, last } = runs.get(runOf) ?? {};
  const isRecent = last !== undefined && last.at >= current - (HISTORY_MINUTES - 1) * 60_000;
  return {
    minute: new Date(current).toISOString(),
    total: totalsView(totalsOf(all)),
    models: models.sort((a, b) => b.calls - a.calls),
    minutes: own.filter(({ counts }) => counts.length > 0).map(minuteView),
    failing: isRecent ? failures : 0,
    last_failure: last === undefined ? null : failureView(last),
  };
}

function totalsView({ rateLimited, timedOut, averageMs, ...totals }: CallTotals): CallTotalsView {
  return { ...totals, rate_limited: rateLimited, timed_out: timedOut, average_ms: averageMs };
}

function minuteView({ time, counts }: History['minutes'][number]): CallMinuteView {
  const { succeeded, failed, rejected, canceled } = totalsOf(counts);
  return { time: new Date(time).toISOString(), succeeded, failed, other: rejected + canceled };
}

type LastFailure = NonNullable<ReturnType<History['runs']['get']>>['last'];

function failureView({ at, model, code, status, message, providerMessage }: NonNullable<LastFailure>): CallFailureView {
  return {
    at: new Date(at).toISOString(),
    ...{ model, code, status: status ?? null, message: message ?? null, provider_message: providerMessage ?? null },
  };
}
