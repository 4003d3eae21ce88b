import { Injectable } from '@nestjs/common';
import { AccountStore, type Account } from '#accounts/account-store.js';
import { approvalThresholds, withKey, type ApprovalThresholds } from '#tasks/admission/approval-thresholds.js';
import type { ApiKeyRow } from '#accounts/api-keys.js';
import { NewKeyRepository } from '#accounts/new-key.repository.js';
import { storedEndUserMode } from '#accounts/end-users.js';
import { may } from '#accounts/person-rules.js';
import type { Session } from '#accounts/session-store.js';
import { TaskRights } from '#accounts/task-rights.js';
import { accountShare, type Caller } from '../../auth/caller.js';
import { LimitedKeys } from '../../auth/limited-keys.js';
import { notSignedIn } from '../protect-console.js';

/** A user who orders images in the console. */
type Orderer = Pick<Session, 'accountId' | 'personId' | 'role'>;

/** A key, with its limits if it belongs to a user. */
type PayingKey = Pick<ApiKeyRow, 'id'> & { readonly originalKeyId?: string | null } & Partial<
    Pick<ApiKeyRow, 'weight' | 'submitsPerMinute' | 'pollsPerMinute' | 'tasksInFlight' | 'keepSeconds' | 'tags'>
  > & { readonly approveAboveMicros?: bigint | null; readonly endUsers?: string };

/** Names of the hidden keys for the playground and for provider tests. */
const PLAYGROUND_KEY = 'Playground';
const TEST_KEY = 'Provider test';

/**
 * The caller for images ordered in the console: a hidden key of the account, whose secret no one has. A member whose
 * key an admin has limited uses that key, so that the console does not bypass its limits, nor what it says of end users
 * and tags.
 */
@Injectable()
export class ConsoleCaller {
  constructor(
    private readonly accounts: AccountStore,
    private readonly limited: LimitedKeys,
    private readonly newKeys: NewKeyRepository,
    private readonly rights: TaskRights,
  ) {}

  async of(who: Orderer): Promise<Caller> {
    const key = !may(who, 'keys.manage_all') ? await this.limited.of(who.accountId, who.personId) : undefined;
    return await this.caller(who, key ?? { id: await this.keyId(who.accountId) });
  }

  /**
   * The caller for provider tests: a key of its own, so that tests do not count as users' images. Only the request that
   * asks for the test was counted, before its body was read, for the key of `of`.
   */
  async ofTest(who: Orderer): Promise<Caller> {
    return await this.caller(who, { id: await this.newKeys.ensureHidden(who.accountId, TEST_KEY) });
  }

  private async caller(who: Orderer, key: PayingKey): Promise<Caller> {
    const { accountId, personId } = who;
    const account = await this.accounts.find(accountId);
    if (account === undefined) throw notSignedIn();
    return {
      accountId,
      keyId: key.id,
      originalKeyId: key.originalKeyId ?? key.id,
      personId,
      role: who.role,
      own: await this.rights.ofPerson(who),
      account: accountShare(account.limits),
      weight: key.weight ?? 1,
      limits: {
        submits: key.submitsPerMinute ?? undefined,
        polls: key.pollsPerMinute ?? undefined,
        tasksInFlight: key.tasksInFlight ?? undefined,
      },
      models: [],
      scopes: [],
      defaultResponseFormat: undefined,
      ...(key.endUsers !== undefined && { endUsers: storedEndUserMode(key.endUsers) }),
      tags: key.tags ?? [],
      keepSeconds: key.keepSeconds ?? account.keepSeconds ?? undefined,
      allowPixelSize: true,
      submitMode: 'sync',
      approvals: withKey(thresholdsOf(account), key),
      budgeted: true,
    };
  }

  /** Created on first use. */
  async keyId(accountId: string): Promise<string> {
    return await this.newKeys.ensureHidden(accountId, PLAYGROUND_KEY);
  }
}

function thresholdsOf({ approveAbove, ownApproveAbove, tagApprovals }: Account): ApprovalThresholds {
  return approvalThresholds({
    approveAboveMicros: approveAbove,
    ownApproveAboveMicros: ownApproveAbove,
    tagApprovals,
  });
}
