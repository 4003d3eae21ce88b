import { actionsOf, AUDIT_ACTIONS, AUDIT_KINDS, auditSentence } from './audit-actions.js';

describe('auditSentence', () => {
  it.each<[string, string | null, Record<string, unknown>, string]>([
    ['key.revoked', 'key_1', { name: 'mobile app' }, 'revoked the key “mobile app”'],
    ['key.revoked', 'key_1', {}, 'revoked the key “key_1”'],
    [
      'key.changed',
      'key_1',
      { name: 'app', changes: { budget: '5', submits_per_minute: 1 } },
      'changed the key “app”: budget, submits per minute',
    ],
    ['tasks.deletion_requested', 'erasure_1', { tag: 'draft' }, 'deleted all tasks that match a filter'],
    ['tasks.deletion_requested', 'erasure_1', { before: '2026-01-01' }, 'deleted all tasks of the account'],
    [
      'account.limits_set',
      'acct_1',
      { name: 'Atelier', changes: { weight: 2, max_keys: 5 } },
      'changed the settings of the account “Atelier”: weight, max keys',
    ],
    [
      'key.rotated',
      'key_1',
      { name: 'app', overlap_hours: 0 },
      'rotated the key “app”; the old one stopped working immediately',
    ],
    [
      'webhook_secret.rotated',
      null,
      { overlap_hours: 24 },
      'rotated the signing secret; the old one works for 24 more hours',
    ],
    [
      'webhook_endpoint.added',
      'whe_1',
      { url: 'https://a.example/x' },
      'added the webhook endpoint “https://a.example/x”',
    ],
    ['provider.changed', 'main', { fields: ['base_url', 'keys'] }, 'changed the provider “main”: base URL, keys'],
    ['catalog.restored', '3', { revision: 5 }, 'undid the last change of providers and models'],
    ['catalog.restored', '3', { revision: 6 }, 'restored version 3 of providers and models'],
    ['catalog.restored', '0', { revision: 6 }, 'removed all added providers and models'],
    ['person.changed', 'person_1', { name: 'Kim', role: 'admin' }, 'made “Kim” an admin'],
    [
      'person.changed',
      'person_1',
      { name: 'Kim', role: 'member', disabled: true },
      'made “Kim” a member and disabled “Kim”',
    ],
    ['person.changed', 'person_1', { name: 'Kim', disabled: false }, 'enabled “Kim”'],
    ['person.invited', 'kim@example.org', { role: 'member' }, 'invited “kim@example.org” as a member'],
    ['of.tomorrow', 'thing_1', {}, 'of.tomorrow: “thing_1”'],
    ['toString', null, {}, 'toString'],
  ])('%s of %s, %j', (action, target, details, sentence) => {
    expect(auditSentence(action, target, details)).toBe(sentence);
  });

  it('has a sentence and one kind for every action, with any details', () => {
    const actions = Object.keys(AUDIT_ACTIONS);
    for (const action of actions) {
      for (const details of [{}, { name: { odd: true }, changes: 'odd', overlap_hours: null, url: ['odd'] }]) {
        expect(auditSentence(action, null, details)).toMatch(/^[a-z][^\n]+$/);
        expect(auditSentence(action, null, details)).not.toMatch(/undefined|\[object|null/);
      }
    }
    expect(AUDIT_KINDS.flatMap(actionsOf).sort()).toEqual([...actions].sort());
  });
});
