import { ulid } from 'ulid';
import type { Transaction } from '#database/queryable.js';

/** Of people: neither they nor their account are disabled. */
export const CAN_ENTER = { disabledAt: null, account: { disabledAt: null } } as const;

/** Of people who hold a sign-in: it opens their account, or another one. */
export const CAN_SIGN_IN = { signsInAs: null, OR: [CAN_ENTER, { linked: { some: CAN_ENTER } }] };

/** Everyone with one sign-in, its holder included: one user as a person of several accounts. */
export function withSignIn(holderId: string) {
  return { OR: [{ id: holderId }, { signsInAs: holderId }] };
}

/** What the secrets, recovery codes and passkeys of a sign-in are made for. It moves with them, the person's id does not. */
export function userHandleOf({ id, userHandle }: { readonly id: string; readonly userHandle: string | null }): string {
  return userHandle ?? id;
}

/**
 * Takes a person out of the sign-in that they share with people of other accounts, which goes on without them: when they
 * held it, their password, identity, second factors and passkeys go to the oldest of the others. The person is left
 * without any, to get their own or to be erased; one who shares it with nobody keeps theirs.
 */
export async function leaveSignIn(transaction: Transaction, id: string): Promise<void> {
  const { person, secondFactor, recoveryCode, passkey } = transaction;
  // Writes, for their locks: whoever joins with this sign-in or leaves it meanwhile waits, or is waited for.
  const left = await person.update({ where: { id }, data: { signsInAs: null } });
  await person.updateMany({ where: { signsInAs: id }, data: { signsInAs: id } });
  const heir = async (where: object) =>
    await person.findFirst({
      where: { signsInAs: id, deletedAt: null, ...where },
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    });
  const next = (await heir(CAN_ENTER)) ?? (await heir({}));
  if (next === null) return;
  const { passwordHash, openidIssuer, openidSubject, emailVerifiedAt } = left;
  const none = { passwordHash: null, openidIssuer: null, openidSubject: null, emailVerifiedAt: null };
  // A new handle: authenticators keep one passkey of each, and would replace the heir's.
  await person.update({ where: { id }, data: { ...none, userHandle: `user_${ulid()}` } });
  const held = { passwordHash, openidIssuer, openidSubject, emailVerifiedAt, userHandle: userHandleOf(left) };
  await person.update({ where: { id: next.id }, data: { ...held, signsInAs: null } });
  await person.updateMany({ where: { signsInAs: id }, data: { signsInAs: next.id } });
  const move = { where: { personId: id }, data: { personId: next.id } };
  await secondFactor.updateMany(move);
  await recoveryCode.updateMany(move);
  await passkey.updateMany(move);
}
