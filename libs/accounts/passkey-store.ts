import { Injectable } from '@nestjs/common';
import { ulid } from 'ulid';
import type { Passkey as PasskeyRow } from '#database/generated/client.js';
import { isUniqueViolation } from '#database/database-errors.js';
import { PrismaService } from '#database/prisma.service.js';
import { personOf, type Person } from './person-store.js';
import type { Session } from './session-store.js';
import { CAN_SIGN_IN, lockSignIn, userHandleOf, withSignIn } from './shared-sign-in.js';

/** Per person. */
export const MAX_PASSKEYS = 20;

/** A passkey as its owner sees it. */
export interface Passkey {
  readonly id: string;
  readonly name: string;
  /** Synced by its provider, so it may be on several devices. */
  readonly synced: boolean;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | null;
}

/** A new credential of an authenticator: `credentialId` in base64url, `publicKey` in COSE. */
export interface Credential {
  readonly credentialId: string;
  readonly publicKey: Uint8Array<ArrayBuffer>;
  /** Signature count; 0 when the authenticator does not count. */
  readonly counter: number;
  readonly transports: readonly string[];
  readonly synced: boolean;
}

/** A passkey and the person it signs in. */
export interface KnownPasskey extends Credential {
  readonly id: string;
  readonly person: Person;
  readonly userHandle: string;
}

/** Passkeys of people (where several share a sign-in: of its holder), and the challenges that have been used. */
@Injectable()
export class PasskeyStore {
  constructor(private readonly prisma: PrismaService) {}

  /** The passkeys of a person, oldest first. */
  async list(personId: string): Promise<Passkey[]> {
    const rows = await this.prisma.passkey.findMany({ where: { personId }, orderBy: { id: 'asc' } });
    return rows.map(passkeyOf);
  }

  /** The passkeys of a person, in the form that authenticators need. */
  async credentials(personId: string): Promise<Credential[]> {
    return (await this.prisma.passkey.findMany({ where: { personId } })).map(credentialOf);
  }

  /** The user handle by which authenticators know the person. */
  async userHandle(personId: string): Promise<string> {
    const select = { id: true, userHandle: true };
    return userHandleOf(await this.prisma.person.findUniqueOrThrow({ where: { id: personId }, select }));
  }

  /**
   * Adds a passkey for a signed-in user. `known` when the credential is already registered; undefined when the session
   * has ended, as by a new password, which the passkey would outlast.
   */
  async add(
    { id, signInId }: Pick<Session, 'id' | 'signInId'>,
    name: string,
    { transports, ...columns }: Credential,
  ): Promise<Passkey | 'known' | undefined> {
    const key = { id: `passkey_${ulid()}`, personId: signInId, name, ...columns, transports: [...transports] };
    try {
      return await this.prisma.$transaction(async (transaction) => {
        if (!(await lockSignIn(transaction, signInId))) return undefined;
        const session = { id, person: withSignIn(signInId) };
        if ((await transaction.session.count({ where: session })) === 0) return undefined;
        return passkeyOf(await transaction.passkey.create({ data: key }));
      });
    } catch (error) {
      if (isUniqueViolation(error)) return 'known';
      throw error;
    }
  }

  /** Undefined when the person has no such passkey. */
  async rename(personId: string, id: string, name: string): Promise<Passkey | undefined> {
    const [row] = await this.prisma.passkey.updateManyAndReturn({ where: { id, personId }, data: { name } });
    return row && passkeyOf(row);
  }

  /** The removed passkey; undefined when the person has no such passkey. */
  async remove(personId: string, id: string): Promise<Passkey | undefined> {
    const row = await this.prisma.passkey.findFirst({ where: { id, personId } });
    const { count } = await this.prisma.passkey.deleteMany({ where: { id, personId } });
    return row === null || count === 0 ? undefined : passkeyOf(row);
  }

  /** The passkey with its person, if the sign-in opens at least one account. */
  async forSignIn(credentialId: string): Promise<KnownPasskey | undefined> {
    const row = await this.prisma.passkey.findFirst({
      where: { credentialId, person: CAN_SIGN_IN },
      include: { person: true },
    });
    if (row === null) return undefined;
    const { id, person } = row;
    return { id, person: personOf(person), userHandle: userHandleOf(person), ...credentialOf(row) };
  }

  /** Records a use; false when a concurrent use came first, so one signature count signs in only once. */
  async noteUse({ id, counter }: KnownPasskey, newCounter: number, synced: boolean): Promise<boolean> {
    const { count } = await this.prisma.passkey.updateMany({
      where: { id, counter },
      data: { counter: newCounter, synced, lastUsedAt: new Date() },
    });
    return count === 1;
  }

  /** Uses a challenge, which expires at `expiresAt` anyway; false when it was used before. */
  async useChallenge(challenge: string, expiresAt: Date): Promise<boolean> {
    const { count } = await this.prisma.usedPasskeyChallenge.createMany({
      data: { challenge, expiresAt },
      skipDuplicates: true,
    });
    return count === 1;
  }
}

function passkeyOf({ id, name, synced, createdAt, lastUsedAt }: PasskeyRow): Passkey {
  return { id, name, synced, createdAt, lastUsedAt };
}

function credentialOf({ credentialId, publicKey, counter, transports, synced }: PasskeyRow): Credential {
  return { credentialId, publicKey, counter: Number(counter), transports, synced };
}
