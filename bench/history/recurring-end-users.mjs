// What providers and accounts say about end users.
import { EndUserStates } from '#accounts/end-user-states.js';
import { SafetyNotices } from '#accounts/safety-notices.repository.js';
import { accountsOfEndUser } from '#tasks/row/accounts-of-end-user.sql.js';

const BY_A_PERSON = { cause: 'person', reason: 'bench', provider: null, caseId: null, changedBy: 'person_2' };

/** As `recurring` answers. */
export function recurringEndUsers({ database, accountId }) {
  const states = new EndUserStates(database);
  const notices = new SafetyNotices(database);
  const notice = { provider: 'provider-0', id: 'bench', type: 'safety.warning_issued', caseId: 'bench' };
  const change = (state, announced) => states.change({ accountId, endUser: 'eu_6', state, announced, ...BY_A_PERSON });
  const accounts = (name, endUser, provider) => [
    `tasks/accountsOfEndUser: ${name}`,
    () => accountsOfEndUser(database.pool, endUser, provider),
  ];
  return [
    accounts('with many tasks', 'eu_many', 'provider-0'),
    accounts('with few tasks', 'eu_6', 'provider-0'),
    accounts('of another provider', 'eu_6', 'none'),
    accounts('without tasks', 'eu_none', 'provider-0'),
    [
      'accounts/EndUserStates: flagged, told, and cleared',
      async () => {
        await change('flagged', false);
        await states.announce(() => Promise.resolve());
        await change('none', true);
        await states.expire();
      },
    ],
    [
      'accounts/SafetyNotices: from the receipt to the end',
      async () => {
        await notices.receive(notice);
        await notices.takeDue(10, 60_000);
        await notices.end(notice, 'applied', 'eu_6');
        await notices.unmatchedSince(new Date(), 10);
        await notices.expire();
      },
    ],
  ];
}
