import { refusalOf } from './budget-refusal.js';

const refused = (detail: object) => refusalOf({ code: 'DR402', detail: JSON.stringify(detail) }, 'USD');

it.each([
  [
    { owner: 'account', period: 'month', left: 0 },
    'The budget of this account does not cover the request: nothing is left this month.',
  ],
  [
    { owner: 'key', period: 'total', left: -40_000 },
    'The budget of this API key does not cover the request: nothing is left.',
  ],
  [
    { owner: 'key', period: 'month', left: 1_500_000 },
    'The budget of this API key does not cover the request: 1.500000 USD is left this month.',
  ],
])('says what is left of a budget: %j', (detail, message) => {
  expect(refused(detail)).toMatchObject({ code: 'insufficient_quota', message });
});

it('is undefined for any other error', () => {
  expect(refusalOf({ code: 'DR402' }, 'USD')).toBeUndefined();
  expect(refusalOf({ code: '23505', detail: '{}' }, 'USD')).toBeUndefined();
});
