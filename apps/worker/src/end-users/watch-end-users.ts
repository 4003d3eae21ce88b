import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { AuditLog } from '#accounts/audit-log.js';
import { DEFAULT_ACCOUNT } from '#accounts/api-keys.js';
import type { EndUserState } from '#accounts/end-user-state.js';
import { EndUserStates } from '#accounts/end-user-states.js';
import type { DueNotice } from '#accounts/safety-notice.js';
import { SafetyNotices } from '#accounts/safety-notices.repository.js';
import { isEndUserIdentifier } from '#contract/labels.js';
import { PrismaService } from '#database/prisma.service.js';
import { timeLimit } from '#egress/time-limit.js';
import { accountsOfEndUser } from '#tasks/row/accounts-of-end-user.sql.js';
import { Logger } from '#telemetry/logger.js';
import { EvaluateAlerts } from '../alerts/evaluate-alerts.js';
import { ReadCase } from './read-case.js';

/** Notices that a worker takes at once. */
const MOST_NOTICES = 10;
/** Longer than reading a case usually takes; then another worker may try. Acting on a case twice changes nothing. */
const LEASE_MS = 20_000;
/** How long one try to read a case takes at most: less than the lease, so that no other worker acts on it meanwhile. */
const READ_MS = 15_000;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 600_000;
/** How long a case that can't be read is tried again, in ms. */
const GIVE_UP_MS = 86_400_000;

/**
 * Acts on providers' notices about end users, and announces the states that these or refusals led to: in the audit log, and
 * as alerts. Everything is in rows until it is done, so a killed worker loses nothing.
 */
@Injectable()
export class WatchEndUsers implements OnModuleDestroy {
  private readonly stop = new AbortController();

  constructor(
    private readonly notices: SafetyNotices,
    private readonly cases: ReadCase,
    private readonly states: EndUserStates,
    private readonly audit: AuditLog,
    private readonly alerts: EvaluateAlerts,
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
  ) {}

  onModuleDestroy(): void {
    this.stop.abort(new Error('the worker is stopping'));
  }

  /** Handles what is due. Throws when the database does not answer. */
  async run(): Promise<void> {
    // First, so that a provider that does not answer delays nothing that others led to.
    await this.announce();
    const notices = await this.notices.takeDue(MOST_NOTICES, LEASE_MS);
    if (notices.length === 0) return;
    const handled = await Promise.allSettled(notices.map((notice) => this.handle(notice)));
    await this.announce();
    for (const one of handled) if (one.status === 'rejected') throw one.reason;
  }

  private async handle(notice: DueNotice): Promise<void> {
    const { provider, caseId, type } = notice;
    const found = await this.cases
      .of(provider, caseId, timeLimit(READ_MS, this.stop.signal))
      .catch((error: unknown) => {
        this.logger.warn('safety_notice.case_unreadable', { provider, code: type, error });
        return undefined;
      });
    if (found === undefined) return await this.putOff(notice);
    const { endUser, reason = null } = found;
    const accounts = isEndUserIdentifier(endUser) ? await accountsOfEndUser(this.prisma.pool, endUser, provider) : [];
    const state = type === 'safety.deactivation_issued' ? 'blocked' : 'flagged';
    const by = { cause: 'provider', provider, caseId, changedBy: null, announced: false } as const;
    for (const accountId of accounts) await this.states.change({ accountId, endUser, state, reason, ...by });
    await this.notices.end(notice, accounts.length === 0 ? 'unknown' : 'applied', endUser);
    this.logger.info('safety_notice.read', { provider, code: type, count: accounts.length });
    if (accounts.length === 0) await this.alerts.runNow(DEFAULT_ACCOUNT, 'unmatched_notice');
  }

  private async putOff(notice: DueNotice): Promise<void> {
    if (Date.now() - notice.receivedAt.getTime() > GIVE_UP_MS) {
      await this.notices.end(notice, 'unreadable', null);
      await this.alerts.runNow(DEFAULT_ACCOUNT, 'unmatched_notice');
      return;
    }
    const delayMs = Math.min(FIRST_RETRY_MS * 2 ** (notice.tries - 1), MAX_RETRY_MS);
    await this.notices.retryAt(notice, new Date(Date.now() + delayMs));
  }

  private async announce(): Promise<void> {
    const states = await this.states.announce(async (transaction, state) => {
      await this.audit.write(auditEventOf(state), transaction);
    });
    for (const accountId of new Set(states.map((state) => state.accountId))) {
      // The usual evaluation does it again if this fails.
      await this.alerts.runNow(accountId, 'end_user_abuse').catch((error: unknown) => {
        this.logger.warn('alerts.not_evaluated', { accountId, code: 'end_user_abuse', error });
      });
    }
  }
}

function auditEventOf({ accountId, endUser, state, reason, provider, caseId }: EndUserState) {
  const action = state === 'none' ? 'end_user.unblocked' : (`end_user.${state}` as const);
  const details = { reason, provider, case_id: caseId };
  return { accountId, personId: null, action, target: endUser, details } as const;
}
