import { Injectable } from '@nestjs/common';
import { END_USER_REFUSALS_DAYS, EndUserRefusals, type RefusalCounts } from '#accounts/end-user-refusals.repository.js';
import { EndUserSecrets } from '#accounts/end-user-secrets.js';
import type { EndUserState } from '#accounts/end-user-state.js';
import { EndUserStates } from '#accounts/end-user-states.js';
import { derivedIdentifier } from '#accounts/end-users.js';
import { PersonStore } from '#accounts/person-store.js';
import { isEndUserIdentifier } from '#contract/labels.js';
import type { EndUserListView, EndUserView } from './dto/end-user-views.dto.js';

const MAX_SHOWN = 100;
const MOST_REFUSED = 20;
const DAY_MS = 86_400_000;

/** End users as owners and admins of their account see them: their states, and how often they were refused. */
@Injectable()
export class ShownEndUsers {
  constructor(
    private readonly states: EndUserStates,
    private readonly refusals: EndUserRefusals,
    private readonly secrets: EndUserSecrets,
    private readonly people: PersonStore,
  ) {}

  async list(accountId: string): Promise<EndUserListView> {
    const states = await this.states.list(accountId, { limit: MAX_SHOWN + 1 });
    const top = await this.refusals.counts(accountId, { since: since(), limit: MOST_REFUSED });
    const shown = states.slice(0, MAX_SHOWN).map(({ endUser }) => endUser);
    const most = top.map(({ endUser }) => endUser);
    const views = await this.views(accountId, [...shown, ...most]);
    const viewsOf = (names: readonly string[]) => names.flatMap((name) => views.get(name) ?? []);
    return { data: viewsOf(shown), has_more: states.length > MAX_SHOWN, most_refused: viewsOf(most) };
  }

  /** The end users that an identifier may mean: the one that it is recorded as, and the one that is derived from it. */
  async find(accountId: string, identifier: string): Promise<EndUserView[]> {
    const recorded = isEndUserIdentifier(identifier) ? [identifier] : [];
    const derived = derivedIdentifier(await this.secrets.of(accountId), 'end user', identifier);
    return [...(await this.views(accountId, [...recorded, derived])).values()];
  }

  async one(accountId: string, endUser: string): Promise<EndUserView> {
    const found = (await this.views(accountId, [endUser])).get(endUser);
    if (found === undefined) throw new Error('the end user was not read');
    return found;
  }

  private async views(accountId: string, endUsers: readonly string[]): Promise<Map<string, EndUserView>> {
    const states = await this.states.list(accountId, { endUsers, limit: endUsers.length });
    const counts = await this.refusals.counts(accountId, { since: since(), endUsers, limit: endUsers.length });
    const names = await this.namesOf(accountId, states);
    return new Map(
      endUsers.map((endUser) => {
        const state = states.find((one) => one.endUser === endUser);
        const refused = counts.find((one) => one.endUser === endUser);
        return [endUser, viewOf(endUser, state, refused, names.get(state?.changedBy ?? '') ?? null)];
      }),
    );
  }

  private async namesOf(accountId: string, states: readonly EndUserState[]): Promise<ReadonlyMap<string, string>> {
    if (states.every(({ changedBy }) => changedBy === null)) return new Map();
    return new Map((await this.people.list(accountId)).map(({ id, name }) => [id, name]));
  }
}

function since(): Date {
  return new Date(Date.now() - END_USER_REFUSALS_DAYS * DAY_MS);
}

function viewOf(
  endUser: string,
  state: EndUserState | undefined,
  refused: RefusalCounts | undefined,
  changedBy: string | null,
): EndUserView {
  return {
    end_user: endUser,
    state: state?.state ?? 'none',
    until: state?.until?.toISOString() ?? null,
    cause: state?.cause ?? null,
    reason: state?.reason ?? null,
    provider: state?.provider ?? null,
    case_id: state?.caseId ?? null,
    changed_by: changedBy,
    changed_at: state?.changedAt.toISOString() ?? null,
    refusals: { input: refused?.input ?? 0, output: refused?.output ?? 0, unknown: refused?.unknown ?? 0 },
  };
}
