import { createHash } from 'node:crypto';
import { ulid } from 'ulid';
import type { Transaction } from '#database/queryable.js';

/** Filter for people who, like their account, are not disabled. */
export const CAN_ENTER = { disabledAt: null, account: { disabledAt: null } } as const;

/** Filter for people who hold a sign-in that opens their account or another one. */
export const CAN_SIGN_IN = { signsInAs: null, OR: [CAN_ENTER, { linked: { some: CAN_ENTER } }] };

/** Filter for all people of a sign-in, including its holder: one user in several accounts. */
export function withSignIn(holderId: string) {
  return { OR: [{ id: holderId }, { signsInAs: holderId }] };
}

/** A digest of what a sign-in is proven with: another one once its password or identity has changed. */
export function credentialsDigest(row: {
  readonly passwordHash: string | null;
  readonly openidSubject: string | null;
}): string {
  return createHash('sha256')
    .update(JSON.stringify([row.passwordHash, row.openidSubject]))
    .digest('base64url');
}

/**
 * The user handle that a sign-in's secrets, recovery codes and passkeys are bound to. It moves with them, unlike the
 * person's id.
 */
export function userHandleOf({ id, userHandle }: { readonly id: string; readonly userHandle: string | null }): string {
  return userHandle ?? id;
}

/**
 * Locks a sign-in, and one of its people, until the transaction ends; false when the person does not belong to it.
 * Transactions lock existing rows in this order, so that no two wait for each other: accounts, people (the holder of a
 * sign-in before those who share it), links, sessions.
 */
export async function lockSignIn(transaction: Transaction, holderId: string, personId = holderId): Promise<boolean> {
  for (const id of new Set([holderId, personId])) {
    // A write, for its lock.
    const where = { id, deletedAt: null, ...withSignIn(holderId) };
    const { count } = await transaction.person.updateMany({ where, data: { deletedAt: null } });
    if (count === 0) return false;
  }
  return true;
}

/**
 * Takes a person out of a sign-in that they share with people of other accounts. If they held it, its password,
 * identity, second factors and passkeys go to the oldest of the others. The person is left without any, to get their
 * own or to be erased; a person who shares it with no one keeps theirs.
 */
export async function leaveSignIn(transaction: Transaction, id: string): Promise<void> {
  const { person, secondFactor, recoveryCode, passkey } = transaction;
  // Writes, for their locks: joining or leaving this sign-in has to wait.
  const left = await person.update({ where: { id }, data: { signsInAs: null } });
  await person.updateMany({ where: { signsInAs: id }, data: { signsInAs: id } });
  const successor = async (where: object) =>
    await person.findFirst({
      where: { signsInAs: id, deletedAt: null, ...where },
      orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    });
  const next = (await successor(CAN_ENTER)) ?? (await successor({}));
  if (next === null) return;
  const { passwordHash, openidIssuer, openidSubject, emailVerifiedAt } = left;
  const none = { passwordHash: null, openidIssuer: null, openidSubject: null, emailVerifiedAt: null };
  // A new handle: authenticators keep one passkey per handle, and would replace the successor's.
  await person.update({ where: { id }, data: { ...none, userHandle: `user_${ulid()}` } });
  const credentials = { passwordHash, openidIssuer, openidSubject, emailVerifiedAt, userHandle: userHandleOf(left) };
  await person.update({ where: { id: next.id }, data: { ...credentials, signsInAs: null } });
  await person.updateMany({ where: { signsInAs: id }, data: { signsInAs: next.id } });
  const move = { where: { personId: id }, data: { personId: next.id } };
  await secondFactor.updateMany(move);
  await recoveryCode.updateMany(move);
  await passkey.updateMany(move);
}
