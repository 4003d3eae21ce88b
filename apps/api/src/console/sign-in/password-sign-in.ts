import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { passwordStrength, type PasswordStrength } from '#contract/password-strength.js';
import { LINK_HOURS, LinkStore, type LinkPurpose } from '#accounts/link-store.js';
import { Passwords } from '#accounts/passwords.js';
import { PersonStore, type Person } from '#accounts/person-store.js';
import type { Session } from '#accounts/session-store.js';
import { networkOf } from '../../common/network-of.js';
import { FailedSignIns } from './failed-sign-ins.js';
import type {
  ChangePasswordBody,
  FirstAdminBody,
  JoinBody,
  ResetPasswordBody,
  SignInBody,
} from './dto/sign-in-bodies.dto.js';
import { SignInLimits, signedIn } from './sign-in-limits.js';

/**
 * The logic of signing in with a password, without HTTP. `address`: the client's, by which attempts are counted before
 * any work is done. Every method throws AppError: `rate_limit_exceeded`, and `server_is_overloaded` when too many
 * passwords are waiting to be hashed.
 */
@Injectable()
export class PasswordSignIn {
  constructor(
    private readonly people: PersonStore,
    private readonly links: LinkStore,
    private readonly passwords: Passwords,
    private readonly limits: SignInLimits,
    private readonly failures: FailedSignIns,
  ) {}

  /** Throws AppError `link_used`, and `invalid_value` for a weak password. */
  async firstAdmin(address: string, { token, email, name, password }: FirstAdminBody): Promise<Person> {
    await this.admitLink(address, token, 'first_admin');
    const passwordHash = await this.hash(address, password, [name], email);
    const founder = await this.people.createFounder(token, { email, name, passwordHash });
    return founder ?? (await this.refuse(token, 'first_admin'));
  }

  /** Throws AppError `link_used`, and `invalid_value` for a weak password. */
  async join(address: string, { token, name, password }: JoinBody): Promise<Person> {
    await this.admitLink(address, token, 'invite');
    const passwordHash = await this.hash(address, password, [name], await this.people.linkEmail(token));
    const invited = await this.people.createInvited(token, { name, passwordHash });
    return invited ?? (await this.refuse(token, 'invite'));
  }

  /** Throws AppError `link_used`, and `invalid_value` for a weak password. */
  async resetPassword(address: string, { token, password }: ResetPasswordBody): Promise<Person> {
    await this.admitLink(address, token, 'password');
    const passwordHash = await this.hash(address, password, [], await this.people.linkEmail(token));
    const person = await this.people.resetCredential(token, { passwordHash });
    return person ?? (await this.refuse(token, 'password'));
  }

  /**
   * Finds the user by email address and password; if several users match, the one who signed in last. `browser`: its id
   * if the user has signed in there before. Throws AppError `sign_in_failed`.
   */
  async signIn(address: string, { email, password }: SignInBody, browser?: string): Promise<Person> {
    await this.limits.admit(address, email, browser);
    const people = await this.people.forSignIn(email);
    const hashes = people.map(({ passwordHash }) => passwordHash);
    const matching = await this.passwords.matching(networkOf(address), password, hashes);
    const person = people.find(({ passwordHash }) => matching.has(passwordHash));
    if (person !== undefined) return person;
    for (const one of people) this.failures.note(one);
    throw signInFailed();
  }

  /**
   * Ends the user's other sessions. Throws AppError `sign_in_failed`, also when the password was changed or reset
   * meanwhile, and `invalid_value` for a weak password.
   */
  async changePassword(
    address: string,
    { id, signInId, email, name }: Session,
    { current_password: current, password }: ChangePasswordBody,
  ): Promise<void> {
    const from = await this.verifyPassword(address, { signInId, email }, current);
    const to = await this.hash(address, password, [name], email);
    if (!(await this.people.changePassword(signInId, { from, to }, id))) throw wrongPassword();
  }

  /** Checks the password of a signed-in user, and returns its hash. Throws AppError `sign_in_failed`. */
  async verifyPassword(
    address: string,
    { signInId, email }: Pick<Session, 'signInId' | 'email'>,
    password: string,
  ): Promise<string> {
    await this.limits.admit(address, email, signedIn(signInId));
    const person = (await this.people.forSignIn(email)).find((one) => one.id === signInId);
    const hashes = person === undefined ? [] : [person.passwordHash];
    const [matching] = await this.passwords.matching(networkOf(address), password, hashes);
    if (matching === undefined) throw wrongPassword();
    return matching;
  }

  /**
   * Checking a password's strength takes 10 ms of the event loop, so it requires a valid link first. Throws AppError
   * `link_used`.
   */
  private async admitLink(address: string, token: string, purpose: LinkPurpose): Promise<void> {
    await this.limits.admit(address);
    if ((await this.links.findOpen(token, purpose)) === undefined) await this.refuse(token, purpose);
  }

  private async refuse(token: string, purpose: LinkPurpose): Promise<never> {
    throw closedLink(await this.links.closedReason(token, purpose));
  }

  /**
   * `personal`: texts that the password must not contain, besides the email address. Throws AppError `invalid_value`.
   */
  private async hash(
    address: string,
    password: string,
    personal: readonly string[],
    email: string | undefined,
  ): Promise<string> {
    const strength = await passwordStrength(password, email === undefined ? personal : [...personal, email]);
    if (!strength.enough) throw weakPassword(strength);
    const salt = email === undefined ? undefined : await this.people.saltSource(email);
    return await this.passwords.hash(networkOf(address), password, salt);
  }
}

/** The same error for every cause, so that it reveals nothing about users. */
export function signInFailed(): AppError {
  return new AppError('sign_in_failed', 'Incorrect email or password.');
}

function wrongPassword(): AppError {
  return new AppError('sign_in_failed', 'The current password is incorrect.');
}

function weakPassword({ weakness }: PasswordStrength): AppError {
  const text = ['This password is too easy to guess.', weakness, 'Use a few words that do not belong together.'];
  return new AppError('invalid_value', text.filter((sentence) => sentence !== undefined).join(' '), {
    param: 'password',
  });
}

const CLOSED = {
  used: 'It was already used. Each link works only once.',
  ended: 'It was already used, or the password has changed since. Each link works only once.',
  maker: 'The user who made it may no longer do so. Ask an owner or admin for a new link.',
  expired: `It has expired. Links work for ${LINK_HOURS} hours.`,
} as const;

/** The error for a link that does not work. Only its owner can know its token, so the message may say why. */
export function closedLink(why?: keyof typeof CLOSED): AppError {
  return new AppError(
    'link_used',
    why === undefined ? 'A newer link has replaced it, or it has expired.' : CLOSED[why],
  );
}
