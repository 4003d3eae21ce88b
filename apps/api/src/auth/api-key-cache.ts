import { Injectable } from '@nestjs/common';
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { overloaded } from '#contract/unavailable.js';
import { KEY_SCOPES, storedResponseFormat, storedSubmitMode } from '#accounts/api-keys.js';
import { isAccessToken } from '#accounts/client-tokens.js';
import { storedEndUserMode } from '#accounts/end-users.js';
import { FindKey } from '#accounts/find-key.js';
import { TaskRights } from '#accounts/task-rights.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { atMost } from '#limits/at-most.js';
import { approvalThresholds, withKey } from '#tasks/admission/approval-thresholds.js';
import { accountShare, invalidKey, KeyRefused, type Caller } from './caller.js';
import { KeyUses } from './key-uses.js';
import { LimitedKeys } from './limited-keys.js';
import { SecretLookUps } from './secret-look-ups.js';
import { FirstLookUpLimiter } from './first-look-up-limiter.js';

/** How long a key stays cached; a revocation or a new limit takes effect everywhere within this time. */
const KEY_TTL_MS = 5_000;
const MAX_KEYS = 10_000;
/** Longer texts can't be our keys. */
const MAX_KEY_LENGTH = 256;

type KeyRow = NonNullable<Awaited<ReturnType<FindKey['byText']>>>;

interface KnownKey {
  readonly caller: Caller;
  readonly accountDisabled: boolean;
  readonly revoked: boolean;
  /** Milliseconds since the epoch; Infinity = never. */
  readonly expiresAt: number;
}

/**
 * The callers of API keys, cached: each key is read from the database at most once per 5 seconds, and only a few at a
 * time of those that this process has not found before.
 */
@Injectable()
export class ApiKeyCache {
  private readonly found = new LRUCache<string, KnownKey>({ ...atMost(MAX_KEYS), ttl: KEY_TTL_MS });
  private readonly lookUps: SecretLookUps;
  private readonly asking = new Map<string, Promise<KnownKey | undefined>>();

  constructor(
    private readonly keys: FindKey,
    private readonly rights: TaskRights,
    private readonly budgets: BudgetRepository,
    private readonly limited: LimitedKeys,
    private readonly uses: KeyUses,
    limiter: FirstLookUpLimiter,
  ) {
    this.lookUps = new SecretLookUps(limiter);
  }

  /**
   * The caller behind an `Authorization` header; `address` is the client's. Throws AppError: `invalid_api_key` for
   * anything wrong with the key, `account_disabled`, `rate_limit_exceeded` when the client's network sends too many
   * unknown keys, `server_is_overloaded` when the database does not answer.
   */
  caller(authorization: string | undefined, address: string | undefined): Caller | Promise<Caller> {
    const key = /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
    if (key === undefined || key.length > MAX_KEY_LENGTH) throw invalidKey();
    // The stored hash is expensive to compute, so the cache uses a plain digest.
    const name = hash('sha256', key, 'base64');
    const known = this.found.get(name);
    if (known !== undefined) return admit(known);
    return this.ask(name, key, address).then(admit);
  }

  /**
   * The caller that a key is now, without its text: for what it has ordered before. Not cached. Throws like `caller`, and
   * what the database throws.
   */
  async callerOf(keyId: string): Promise<Caller> {
    const row = await this.keys.current(keyId);
    return admit(row && (await this.known(row)));
  }

  private ask(name: string, key: string, address: string | undefined): Promise<KnownKey | undefined> {
    let answer = this.asking.get(name);
    if (answer === undefined) {
      const lookUp = () => this.lookUp(name, key);
      answer = this.lookUps.run(name, address, lookUp).finally(() => this.asking.delete(name));
      this.asking.set(name, answer);
    }
    return answer;
  }

  private async lookUp(name: string, key: string): Promise<KnownKey | undefined> {
    const known = await this.read(key).catch((cause: unknown) => {
      throw overloaded(cause);
    });
    if (known === undefined) return undefined;
    this.found.set(name, known);
    // A key in use is looked up every few seconds, so counting here is enough and costs requests nothing.
    this.uses.note(known.caller.keyId);
    return known;
  }

  private async read(key: string): Promise<KnownKey | undefined> {
    const row = await this.keys.byText(key);
    if (row === undefined || !isAccessToken(key)) return row && (await this.known(row));
    const known = await this.known(await this.limited.applied(row));
    return { ...known, caller: { ...known.caller, withToken: true } };
  }

  private async known(row: KeyRow): Promise<KnownKey> {
    const [budgeted, { own, role }] = await Promise.all([
      this.budgets.any([row.accountId, row.originalKeyId ?? row.id]),
      this.rights.ofKey(row),
    ]);
    return {
      caller: {
        accountId: row.accountId,
        keyId: row.id,
        originalKeyId: row.originalKeyId ?? row.id,
        own,
        role,
        account: accountShare(row.account),
        weight: row.weight,
        limits: {
          submits: row.submitsPerMinute ?? undefined,
          polls: row.pollsPerMinute ?? undefined,
          tasksInFlight: row.tasksInFlight ?? undefined,
        },
        models: row.models,
        scopes: KEY_SCOPES.filter((scope) => row.scopes.includes(scope)),
        defaultResponseFormat:
          storedResponseFormat(row.defaultResponseFormat ?? row.account.defaultResponseFormat) ?? undefined,
        keepSeconds: row.keepSeconds ?? row.account.keepSeconds ?? undefined,
        allowPixelSize: row.allowPixelSize ?? undefined,
        submitMode: storedSubmitMode(row.submitMode),
        region: row.region ?? undefined,
        approvals: withKey(approvalThresholds(row.account), row),
        endUsers: storedEndUserMode(row.endUsers),
        tags: row.tags,
        budgeted,
      },
      accountDisabled: row.account.disabledAt !== null,
      revoked: row.revokedAt !== null,
      expiresAt: row.expiresAt?.getTime() ?? Infinity,
    };
  }
}

function admit(known: KnownKey | undefined): Caller {
  if (known === undefined) throw invalidKey();
  if (known.revoked || known.expiresAt <= Date.now()) throw new KeyRefused(known.caller, 'invalid_api_key');
  if (known.accountDisabled) throw new KeyRefused(known.caller, 'account_disabled');
  return known.caller;
}
