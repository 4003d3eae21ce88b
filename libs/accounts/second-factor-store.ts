import { Injectable } from '@nestjs/common';
import type { Prisma } from '#database/generated/client.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Transaction } from '#database/queryable.js';
import { TextSealer, UnreadableSecret } from '#secrets/sealed-text.js';
import { userHandleOf } from './shared-sign-in.js';
import { newRecoveryCodes, newTotpSecret, recoveryHash, totpStep, totpUri } from './totp.js';

/** Purpose for the TextSealer of this store. */
export const SECOND_FACTORS = 'second factors';

/** The name that authenticator apps show. */
const SERVICE = 'Darkroom';

/** A secret in base32, and as an otpauth URI for a QR code. */
interface NewAuthenticator {
  readonly secret: string;
  readonly uri: string;
}

/** A passkey also signs in without a password. */
export const SECOND_FACTOR_KINDS = ['authenticator', 'passkey'] as const;
export type SecondFactorKind = (typeof SECOND_FACTOR_KINDS)[number];

/** The second factors of a person. */
export interface SecondFactorState {
  /** Null = no code is required. */
  readonly since: Date | null;
  readonly recoveryCodes: number;
}

/** A secret as stored. */
interface SealedSecret {
  readonly personId: string;
  readonly person: { readonly id: string; readonly userHandle: string | null };
  readonly keyId: string;
  readonly sealed: Uint8Array<ArrayBuffer>;
}

/** The user handle of a secret's person. */
const HANDLE = { person: { select: { id: true, userHandle: true } } } as const;

/**
 * Authenticator apps and recovery codes. Secrets are encrypted, and shown only once, before they are confirmed.
 * `personId` is the holder of the sign-in, where several people share one.
 */
@Injectable()
export class SecondFactorStore {
  constructor(
    private readonly prisma: PrismaService,
    private readonly sealer: TextSealer,
  ) {}

  async state(personId: string): Promise<SecondFactorState> {
    const { secondFactor, recoveryCode } = this.prisma;
    const row = await secondFactor.findUnique({ where: { personId }, select: { confirmedAt: true } });
    return { since: row?.confirmedAt ?? null, recoveryCodes: await recoveryCode.count({ where: { personId } }) };
  }

  /** The second factors of these people, by their id; people without any are missing. */
  async kindsOf(personIds: readonly string[]): Promise<ReadonlyMap<string, readonly SecondFactorKind[]>> {
    const query = { where: { personId: { in: [...personIds] } }, select: { personId: true } };
    const { secondFactor, passkey } = this.prisma;
    const apps = await secondFactor.findMany({ ...query, where: { ...query.where, confirmedAt: { not: null } } });
    const passkeys = await passkey.findMany({ ...query, distinct: ['personId'] });
    const kinds = new Map<string, SecondFactorKind[]>(apps.map(({ personId }) => [personId, ['authenticator']]));
    for (const { personId } of passkeys) kinds.set(personId, [...(kinds.get(personId) ?? []), 'passkey']);
    return kinds;
  }

  /** A new secret, in effect once it is confirmed; undefined when the person already has a confirmed one. */
  async begin(personId: string, email: string): Promise<NewAuthenticator | undefined> {
    const secret = newTotpSecret();
    const columns = { ...this.columns(await this.handleOf(personId), secret), lastStep: 0n, createdAt: new Date() };
    await this.prisma.secondFactor.createMany({ data: { personId, ...columns }, skipDuplicates: true });
    const { count } = await this.prisma.secondFactor.updateMany({
      where: { personId, confirmedAt: null },
      data: columns,
    });
    return count === 1 ? { secret, uri: totpUri(secret, email, SERVICE) } : undefined;
  }

  /**
   * Confirms a new secret with a code and returns recovery codes; sign-ins require a code from now on. Undefined for a
   * wrong code.
   */
  async confirm(personId: string, code: string): Promise<string[] | undefined> {
    return (await this.takeCode(personId, code, false)) ? await this.renewRecoveryCodes(personId) : undefined;
  }

  /**
   * Uses a code of the app, or a recovery code, each only once, and returns which it was; undefined for a wrong or used
   * one.
   */
  async take(personId: string, code: string): Promise<'app' | 'recovery' | undefined> {
    if (await this.takeCode(personId, code, true)) return 'app';
    const codeHash = recoveryHash(await this.handleOf(personId), code);
    const { count } = await this.prisma.recoveryCode.deleteMany({ where: { personId, codeHash } });
    return count === 1 ? 'recovery' : undefined;
  }

  /** Replaces all recovery codes; the new ones can be read only in the result. */
  async renewRecoveryCodes(personId: string): Promise<string[]> {
    const codes = newRecoveryCodes();
    const handle = await this.handleOf(personId);
    await this.prisma.$transaction([
      // A write, for its lock: of two concurrent calls, the second replaces the codes of the first.
      this.prisma.secondFactor.updateMany({ where: { personId }, data: { personId } }),
      this.prisma.recoveryCode.deleteMany({ where: { personId } }),
      this.prisma.recoveryCode.createMany({
        data: codes.map((code) => ({ personId, codeHash: recoveryHash(handle, code) })),
      }),
    ]);
    return codes;
  }

  /** Makes the password sufficient again; false when it already was. */
  async remove(personId: string): Promise<boolean> {
    const [{ count }] = await this.prisma.$transaction([
      this.prisma.secondFactor.deleteMany({ where: { personId, confirmedAt: { not: null } } }),
      this.prisma.recoveryCode.deleteMany({ where: { personId } }),
    ]);
    return count === 1;
  }

  /** Removes all second factors; false when there were none. */
  async reset(personId: string): Promise<boolean> {
    return await this.prisma.$transaction(
      async (transaction) => (await deleteSecondFactors(transaction, { id: personId })) > 0,
    );
  }

  /** How many secrets are encrypted with a SECRET_KEY other than the current one. */
  async outdated(): Promise<number> {
    const rows = await this.prisma.secondFactor.groupBy({ by: ['keyId'], _count: true });
    const sealed = Buffer.alloc(0);
    return rows.reduce((sum, row) => sum + (this.sealer.isOutdated({ ...row, sealed }) ? row._count : 0), 0);
  }

  /** Encrypts secrets again that use the previous SECRET_KEY, so that it can be removed. */
  async reencrypt(): Promise<void> {
    for (const row of await this.prisma.secondFactor.findMany({ include: HANDLE })) {
      const secret = this.secretOf(row);
      if (secret !== undefined) await this.keepSealed(row, secret);
    }
  }

  private async takeCode(personId: string, code: string, confirmed: boolean): Promise<boolean> {
    const which = { personId, confirmedAt: confirmed ? { not: null } : null };
    const row = await this.prisma.secondFactor.findFirst({ where: which, include: HANDLE });
    const secret = row === null ? undefined : this.secretOf(row);
    if (row === null || secret === undefined) return false;
    const step = totpStep(secret, code.replace(/\s/g, ''));
    if (step === undefined) return false;
    // Only one of two concurrent requests can use a code. A new app may have replaced one that was not confirmed.
    const { count } = await this.prisma.secondFactor.updateMany({
      where: { ...which, lastStep: { lt: step }, ...(!confirmed && { sealed: row.sealed }) },
      data: { lastStep: step, ...(!confirmed && { confirmedAt: new Date() }) },
    });
    return count === 1;
  }

  /** Undefined when its SECRET_KEY is no longer set: recovery codes still work, because they are not encrypted. */
  private secretOf({ person, keyId, sealed }: SealedSecret): string | undefined {
    try {
      return this.sealer.open(userHandleOf(person), { keyId, sealed: Buffer.from(sealed) });
    } catch (error) {
      if (error instanceof UnreadableSecret) return undefined;
      throw error;
    }
  }

  private async keepSealed({ personId, person, keyId, sealed }: SealedSecret, secret: string): Promise<void> {
    if (!this.sealer.isOutdated({ keyId, sealed: Buffer.from(sealed) })) return;
    const data = this.columns(userHandleOf(person), secret);
    await this.prisma.secondFactor.updateMany({ where: { personId, sealed }, data });
  }

  private columns(handle: string, secret: string) {
    const { keyId, sealed } = this.sealer.seal(handle, secret);
    return { keyId, sealed: new Uint8Array(sealed) };
  }

  private async handleOf(personId: string): Promise<string> {
    const where = { id: personId };
    return userHandleOf(await this.prisma.person.findUniqueOrThrow({ where, select: HANDLE.person.select }));
  }
}

/**
 * Removes apps, recovery codes and passkeys, for people who no longer have a password: another user may have set them
 * up. Returns the number of confirmed apps and passkeys.
 */
export async function deleteSecondFactors(transaction: Transaction, person: Prisma.PersonWhereInput): Promise<number> {
  const passkeys = await transaction.passkey.deleteMany({ where: { person } });
  const apps = await transaction.secondFactor.deleteMany({ where: { person, confirmedAt: { not: null } } });
  await transaction.secondFactor.deleteMany({ where: { person } });
  await transaction.recoveryCode.deleteMany({ where: { person } });
  return passkeys.count + apps.count;
}
