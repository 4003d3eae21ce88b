import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import type { RefusedCallsRow } from '#accounts/accounts.sql.js';
import { RefusedCallsRepository } from '#accounts/refused-calls.repository.js';
import type { AppError } from '#contract/app-error.js';
import { publicCode } from '#contract/error-codes.js';
import { Logger } from '#telemetry/logger.js';
import { KeyRefused } from './caller.js';

const MINUTE_MS = 60_000;
/** How long refusals are collected into one write, in ms: a flood costs a statement per interval, not one per call. */
const GATHER_MS = 1_000;
/** Rows of a minute, in all and of one account; calls beyond them are counted without their key. */
const MAX_ROWS = 5_000;
const MAX_ROWS_OF_ACCOUNT = 100;

type Sender = Pick<RefusedCallsRow, 'accountId' | 'keyId'>;

const UNKNOWN: Sender = { accountId: '', keyId: '' };

/** Counts the refused calls of this process by key, code and minute, and writes the counts. */
@Injectable()
export class RefusedCalls implements OnApplicationShutdown {
  private counts = new Map<string, RefusedCallsRow>();
  /** Start of the current minute, in ms since 1970, and the rows that it has, by name and by account. */
  private minute = 0;
  private readonly rows = new Set<string>();
  private readonly rowsOfAccount = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly repository: RefusedCallsRepository,
    private readonly logger: Logger,
  ) {}

  /** Counts a call of a key, or of none. */
  count(sender: Sender | undefined, error: Pick<AppError, 'code' | 'status'>): void {
    const now = Date.now();
    this.beginMinute(now - (now % MINUTE_MS));
    const kind = { minute: new Date(this.minute), code: publicCode(error.code) ?? error.code, status: error.status };
    this.add({ ...this.placeOf(sender ?? UNKNOWN, kind.code, kind.status), ...kind, count: 1 });
    this.schedule();
  }

  /** Writes what has not been written yet. */
  async onApplicationShutdown(): Promise<void> {
    await this.write();
  }

  private beginMinute(minute: number): void {
    if (minute === this.minute) return;
    this.minute = minute;
    this.rows.clear();
    this.rowsOfAccount.clear();
  }

  /** Whom to count a call for: its key, or, if there is no row left for it, its account without a key, or nobody. */
  private placeOf({ accountId, keyId }: Sender, code: string, status: number): Sender {
    const name = [accountId, keyId, code, status].join(' ');
    if (accountId === '' || this.rows.has(name)) return { accountId, keyId };
    const ofAccount = this.rowsOfAccount.get(accountId) ?? 0;
    if (this.rows.size >= MAX_ROWS) return UNKNOWN;
    if (keyId !== '' && ofAccount >= MAX_ROWS_OF_ACCOUNT) return this.placeOf({ accountId, keyId: '' }, code, status);
    this.rows.add(name);
    this.rowsOfAccount.set(accountId, ofAccount + 1);
    return { accountId, keyId };
  }

  private add(row: RefusedCallsRow): void {
    const { minute, accountId, keyId, code, status } = row;
    const name = [minute.getTime(), accountId, keyId, code, status].join(' ');
    const known = this.counts.get(name);
    this.counts.set(name, known === undefined ? row : { ...known, count: known.count + row.count });
  }

  private schedule(): void {
    this.timer ??= setTimeout(() => void this.write(), GATHER_MS).unref();
  }

  private async write(): Promise<void> {
    clearTimeout(this.timer);
    const rows = [...this.counts.values()];
    this.counts = new Map();
    if (rows.length > 0) {
      await this.repository.add(rows).catch((error: unknown) => {
        this.logger.warn('refused_calls.not_written', { count: rows.length, error });
        this.keep(rows);
      });
    }
    this.timer = undefined;
    if (this.counts.size > 0) this.schedule();
  }

  /** Counts that could not be written go with the next ones, as many as a minute may have. */
  private keep(rows: readonly RefusedCallsRow[]): void {
    for (const row of rows) if (this.counts.size < MAX_ROWS) this.add(row);
  }
}

/** Statuses above 499 that are refusals: the service, not the call, is at its limit. */
const OVERLOADED = 503;

/**
 * Counts the calls of the API that got an error before there was a task: a task's error is in the task. Calls of public
 * routes and unknown URLs have no sender, and those of the console are its own.
 */
export function countRefusals(server: FastifyInstance, refused: RefusedCalls): void {
  server.decorateRequest('refusal', undefined);
  server.addHook('onResponse', (request, _reply, done) => {
    const { refusal, caller, taskId, is404 } = request;
    const { public: isPublic, console: isConsole } = request.routeOptions.config;
    const isCounted = refusal !== undefined && (refusal.status < 500 || refusal.status === OVERLOADED);
    if (isCounted && taskId === undefined && !is404 && isPublic !== true && isConsole !== true) {
      refused.count(refusal instanceof KeyRefused ? refusal.key : caller, refusal);
    }
    done();
  });
}
