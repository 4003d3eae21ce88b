import { domainToASCII } from 'node:url';
import { INVISIBLE, isPlainAddress, VISIBLE_NAME } from '#contract/text-rules.js';
import { DEFAULT_ACCOUNT } from './api-keys.js';

/** From most to least powerful. No one may grant a role above their own, or change a person who has one. */
export const ROLES = ['owner', 'admin', 'member', 'viewer', 'billing'] as const;
export type Role = (typeof ROLES)[number];

/** Roles for invitations; only an owner can make an admin an owner. */
export const INVITED_ROLES = ['admin', 'member', 'viewer', 'billing'] as const;
export type InvitedRole = (typeof INVITED_ROLES)[number];

/** All abilities, and which roles have them. The console, its API and the docs read this table. */
export const ABILITIES = {
  'self.manage': { roles: ROLES, what: 'their own name, password, and sessions' },
  'usage.read': { roles: ROLES, what: 'usage and spend' },
  'budgets.read': { roles: ['owner', 'admin', 'billing'], what: 'the budget and limits of the account' },
  'keys.read': { roles: ['owner', 'admin', 'member', 'billing'], what: 'keys with their budgets; members: their own' },
  'keys.manage': { roles: ['owner', 'admin', 'member'], what: 'create, change, rotate, and revoke their own keys' },
  'keys.manage_all': { roles: ['owner', 'admin'], what: 'all keys, with their limits and budgets' },
  'tasks.read': {
    roles: ['owner', 'admin', 'member', 'viewer'],
    what: 'tasks with their prompts and images; members: their own; models',
  },
  'tasks.read_all': { roles: ['owner', 'admin', 'viewer'], what: 'the tasks of all users and keys' },
  'tasks.create': {
    roles: ['owner', 'admin', 'member'],
    what: 'generate images; rerun, cancel, favorite, and delete tasks that they see',
  },
  'tasks.retry': { roles: ['owner', 'admin'], what: 'retry failed tasks in bulk' },
  'tasks.approve': { roles: ['owner', 'admin'], what: 'approve or reject requests above a price' },
  'end_users.manage': {
    roles: ['owner', 'admin'],
    what: 'end users: flag, block, and unblock them; pauses; limits, also of tags',
  },
  'webhooks.read': {
    roles: ['owner', 'admin', 'member'],
    what: 'webhook endpoints; see and resend deliveries; members: own tasks, and tests',
  },
  'webhooks.manage': { roles: ['owner', 'admin'], what: 'change webhook endpoints and secrets' },
  'alerts.manage': { roles: ['owner', 'admin'], what: 'alerts: rules, channels, and history' },
  'team.manage': { roles: ['owner', 'admin'], what: 'users and invitations, up to their own role' },
  'account.manage': {
    roles: ['owner', 'admin'],
    what: 'rename the account; require approvals, and two-factor authentication',
  },
  'audit.read': { roles: ['owner', 'admin'], what: 'the audit log' },
  'installation.manage': {
    roles: ['owner', 'admin'],
    operators: true,
    what: 'providers, models, prices, queue, failures, and accounts (first account only)',
  },
} as const satisfies Readonly<Record<string, AbilityRule>>;
export type Ability = keyof typeof ABILITIES;

interface AbilityRule {
  readonly roles: readonly Role[];
  /** Concerns the whole installation, so only people of the first account have it. */
  readonly operators?: true;
  /** For the docs. */
  readonly what: string;
}

/** A role in an account. */
interface Holder {
  readonly role: Role;
  readonly accountId: string;
}

/** Whether the holder of a role has an ability. */
export function may({ role, accountId }: Holder, ability: Ability): boolean {
  const rule: AbilityRule = ABILITIES[ability];
  return rule.roles.includes(role) && (rule.operators === undefined || accountId === DEFAULT_ACCOUNT);
}

/** All abilities of the holder of a role. */
export function abilitiesOf(who: Holder): Ability[] {
  return (Object.keys(ABILITIES) as Ability[]).filter((ability) => may(who, ability));
}

/** Whether one role is above another; viewer and billing see different things, so neither is above the other. */
export function isAbove(one: Role, other: Role): boolean {
  return Math.min(ROLES.indexOf(one), VIEWER) < Math.min(ROLES.indexOf(other), VIEWER);
}

const VIEWER = ROLES.indexOf('viewer');

const EMAIL = /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,190}$/u;

const MAX_NAME_LENGTH = 100;
/** Longer than any spelling of an address. */
const MAX_EMAIL_TEXT = 1_000;

/**
 * The normalized form in which an email address is stored, counted and looked up: NFKC, trimmed, lower case. Undefined
 * for a text that is not an address, such as one with control or invisible characters.
 */
export function storedEmailOf(text: unknown): string | undefined {
  if (typeof text !== 'string' || text.length > MAX_EMAIL_TEXT) return undefined;
  // Lower case may split a character that NFKC joins.
  const email = text.normalize('NFKC').trim().toLowerCase().normalize('NFKC');
  return EMAIL.test(email) ? email : undefined;
}

/**
 * Like `storedEmailOf`, for addresses that someone enters and email is sent to. An OpenID Connect provider may vouch for
 * others, whose users still sign in.
 */
export function newEmailOf(text: unknown): string | undefined {
  const email = storedEmailOf(text);
  return email !== undefined && isPlainAddress(email) ? email : undefined;
}

/** One spelling for the addresses that email finds the same mailbox with, for counting: only their domains differ. */
export function mailboxOf(address: string): string {
  const at = address.lastIndexOf('@');
  const domain = address.slice(at + 1);
  return `${address.slice(0, at)}@${(domainToASCII(domain) || domain).replace(/\.$/, '')}`;
}

/** A name from outside, without invisible characters; undefined when nothing is left. */
export function shownNameOf(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined;
  const visible = [...text.replace(INVISIBLE, '').trim()].slice(0, MAX_NAME_LENGTH).join('');
  return VISIBLE_NAME.test(visible) ? visible : undefined;
}

/**
 * The role of a person's row, or of a link, which never grants ownership; the least powerful for a role of a later
 * version.
 */
export function roleOf({ role, owner = false }: { readonly role: string; readonly owner?: boolean }): Role {
  return role === 'admin' && owner ? 'owner' : invitedRoleOf(role);
}

/** The role that a link grants. */
export function invitedRoleOf(text: string): InvitedRole {
  return INVITED_ROLES.find((role) => role === text) ?? 'billing';
}

/** The columns of a role: an owner is an admin whom other admins can't change. */
export function roleColumns(role: Role): { role: InvitedRole; owner: boolean } {
  return { role: role === 'owner' ? 'admin' : role, owner: role === 'owner' };
}
