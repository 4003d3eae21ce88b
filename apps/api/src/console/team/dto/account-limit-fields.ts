import { ACCOUNT_LIMIT_NAMES, type AccountLimitName } from '#contract/account-limits.js';

/** A share of the queue is no limit, but is set and shown among them. */
export type AccountLimitField = AccountLimitName | 'weight';

/** A base class with a property for the weight and for each limit of accounts, as `decorate` describes them. */
export function AccountLimitFields<Fields extends object>(
  decorate: (name: AccountLimitField) => PropertyDecorator,
  base: new () => object = Object,
): new () => Fields {
  class WithLimits extends base {}
  for (const name of ['weight', ...ACCOUNT_LIMIT_NAMES] as const) decorate(name)(WithLimits.prototype, name);
  return WithLimits as new () => Fields;
}
