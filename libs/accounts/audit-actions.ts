/** The parts of an entry's sentence. */
interface Told {
  /** Its target in quotes: the name it had then, or the id where no name was recorded. */
  readonly name: string;
  readonly target: string | null;
  /** A detail, if it is a string or a number. */
  readonly text: (field: string) => string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
}

interface ActionMeaning {
  readonly kind: AuditKind;
  /** The sentence after the user's name. */
  readonly says: (told: Told) => string;
}

/** Groups of actions to filter by. */
export const AUDIT_KINDS = ['keys', 'tasks', 'webhooks', 'alerts', 'providers', 'team', 'sign_in'] as const;
export type AuditKind = (typeof AUDIT_KINDS)[number];

const withDetail = (text: string | undefined, sentence: (text: string) => string): string =>
  text === undefined ? '' : sentence(text);
const overlap = ({ text }: Told): string =>
  withDetail(text('overlap_hours'), (hours) =>
    hours === '0' ? '; the old one stopped working immediately' : `; the old one works for ${hours} more hours`,
  );
const withKeys = ({ text }: Told, sentence: string): string =>
  withDetail(text('revoked_keys'), (count) => (count === '0' ? '' : ` ${sentence} (${count})`));
const ROLE_NAMES: Readonly<Record<string, string>> = {
  ...{ owner: 'an owner', admin: 'an admin', viewer: 'a viewer', billing: 'a billing user' },
};
const SIGN_IN_WAYS: Readonly<Record<string, string>> = {
  ...{ openid: ' by single sign-on', passkey: ' with a passkey', switch: ' from another account' },
};
const role = (name = ''): string => ROLE_NAMES[name] ?? 'a member';

function personChange({ name, details, text }: Told): string {
  const from = text('from');
  if (from !== undefined) return `changed their name from “${from}” to ${name}`;
  const made = withDetail(text('role'), (to) => `made ${name} ${role(to)}`);
  if (details['disabled'] === true) return `${made === '' ? '' : `${made} and `}disabled ${name}`;
  if (details['disabled'] === false) return `${made === '' ? '' : `${made} and `}enabled ${name}`;
  return made === '' ? `changed ${name}` : made;
}

function keyChange({ name, details }: Told): string {
  return `changed the key ${name}${changedFields(details)}`;
}

function accountChange({ name, details }: Told): string {
  return `changed the settings of the account ${name}${changedFields(details)}`;
}

function changedFields({ changes }: Told['details']): string {
  return listed({ fields: typeof changes === 'object' && changes !== null ? Object.keys(changes) : [] });
}

function listed({ fields }: Told['details']): string {
  if (!Array.isArray(fields) || fields.length === 0) return '';
  return `: ${fields
    .map((field) =>
      String(field)
        .replaceAll('_', ' ')
        .replace(/\burl\b/g, 'URL'),
    )
    .join(', ')}`;
}

/** An entry from the console replaces a built-in one of the same name. */
function added(noun: 'model' | 'provider', { name, details }: Told): string {
  return details['replaces_built_in'] === true ? `replaced the built-in ${noun} ${name}` : `added the ${noun} ${name}`;
}

/** Revisions are numbered versions of the catalog, each one change after the last. */
function catalogRestored({ target, text }: Told): string {
  const [old, made] = [Number(target ?? 0), Number(text('revision') ?? 0)];
  if (made - old === 2) return 'undid the last change of providers and models';
  return old === 0 ? 'removed all added providers and models' : `restored version ${old} of providers and models`;
}

/** All actions of the audit log, each named noun and verb. */
export const AUDIT_ACTIONS = {
  'key.created': { kind: 'keys', says: ({ name }) => `created the key ${name}` },
  'key.changed': { kind: 'keys', says: keyChange },
  'key.rotated': { kind: 'keys', says: (told) => `rotated the key ${told.name}${overlap(told)}` },
  'key.revoked': { kind: 'keys', says: ({ name }) => `revoked the key ${name}` },
  'task.made': { kind: 'tasks', says: ({ text }) => `generated an image in the playground${inModel(text('model'))}` },
  'task.made_again': { kind: 'tasks', says: () => 'ran a task again' },
  'tasks.redriven': { kind: 'tasks', says: ({ text }) => `retried ${text('count') ?? 'some'} failed tasks` },
  'tasks.cancelled': { kind: 'tasks', says: ({ text }) => `canceled ${text('count') ?? 'some'} tasks` },
  'task.cancelled': { kind: 'tasks', says: () => 'canceled a task' },
  'webhook_endpoint.added': { kind: 'webhooks', says: ({ name }) => `added the webhook endpoint ${name}` },
  'webhook_endpoint.changed': {
    kind: 'webhooks',
    says: ({ name }) => `changed the events of the webhook endpoint ${name}`,
  },
  'webhook_endpoint.disabled': { kind: 'webhooks', says: ({ name }) => `disabled the webhook endpoint ${name}` },
  'webhook_endpoint.enabled': { kind: 'webhooks', says: ({ name }) => `enabled the webhook endpoint ${name}` },
  'webhook_endpoint.removed': { kind: 'webhooks', says: ({ name }) => `removed the webhook endpoint ${name}` },
  'webhook_endpoint.tested': { kind: 'webhooks', says: ({ name }) => `sent a test to the webhook endpoint ${name}` },
  'webhook_secret.rotated': { kind: 'webhooks', says: (told) => `rotated the signing secret${overlap(told)}` },
  'webhook_delivery.resent': {
    kind: 'webhooks',
    says: ({ text }) => `resent a webhook${withDetail(text('url'), (url) => ` to “${url}”`)}`,
  },
  'alert_rule.enabled': { kind: 'alerts', says: ({ name }) => `turned on the alert ${name}` },
  'alert_rule.changed': { kind: 'alerts', says: ({ name }) => `changed the alert ${name}` },
  'alert_rule.disabled': { kind: 'alerts', says: ({ name }) => `turned off the alert ${name}` },
  'alert_channel.added': { kind: 'alerts', says: ({ name }) => `added the alert channel ${name}` },
  'alert_channel.removed': { kind: 'alerts', says: ({ name }) => `removed the alert channel ${name}` },
  'alert_channel.tested': { kind: 'alerts', says: ({ name }) => `sent a test to the alert channel ${name}` },
  'provider.drained': { kind: 'providers', says: ({ name }) => `drained the provider ${name}` },
  'provider.resumed': { kind: 'providers', says: ({ name }) => `resumed the provider ${name}` },
  'provider.tested': { kind: 'providers', says: ({ name }) => `tested the provider ${name}` },
  'provider.added': { kind: 'providers', says: (told) => added('provider', told) },
  'provider.changed': {
    kind: 'providers',
    says: ({ name, details }) => `changed the provider ${name}${listed(details)}`,
  },
  'provider.removed': { kind: 'providers', says: ({ name }) => `removed the provider ${name}` },
  'model.added': { kind: 'providers', says: (told) => added('model', told) },
  'model.changed': { kind: 'providers', says: ({ name, details }) => `changed the model ${name}${listed(details)}` },
  'model.removed': { kind: 'providers', says: ({ name }) => `removed the model ${name}` },
  'catalog.restored': { kind: 'providers', says: catalogRestored },
  'person.invited': { kind: 'team', says: ({ name, text }) => `invited ${name} as ${role(text('role'))}` },
  'person.changed': { kind: 'team', says: personChange },
  'person.deleted': {
    kind: 'team',
    says: (told) => `deleted ${told.name}${withKeys(told, 'and revoked their keys')}`,
  },
  'person.left': { kind: 'team', says: () => 'left the account' },
  'person.reset_link_made': {
    kind: 'team',
    says: ({ name }) => `created a password reset link for ${name}`,
  },
  'first_admin.link_made': { kind: 'team', says: () => 'created a link for the first owner' },
  'invitation.withdrawn': { kind: 'team', says: ({ name }) => `withdrew the invitation for ${name}` },
  'account.created': { kind: 'team', says: ({ name }) => `created the account ${name}` },
  'account.renamed': {
    kind: 'team',
    says: ({ name, text }) => `renamed the account${withDetail(text('from'), (from) => ` “${from}”`)} to ${name}`,
  },
  'account.two_factor_required': {
    kind: 'team',
    says: () => 'made two-factor authentication required for everyone in the account',
  },
  'account.two_factor_optional': { kind: 'team', says: () => 'made two-factor authentication optional' },
  'account.disabled': { kind: 'team', says: ({ name }) => `disabled the account ${name}` },
  'account.deleted': { kind: 'team', says: ({ name }) => `deleted the account ${name}` },
  'account.enabled': { kind: 'team', says: ({ name }) => `enabled the account ${name}` },
  'account.limits_set': { kind: 'team', says: accountChange },
  'account.budget_set': { kind: 'team', says: ({ name }) => `set the budget of the account ${name}` },
  'person.joined': {
    kind: 'team',
    says: ({ text }) => `joined${withDetail(text('invited'), (email) => `, invited as “${email}”`)}`,
  },
  'person.became_first_admin': { kind: 'team', says: () => 'became the first owner' },
  'person.signed_in': {
    kind: 'sign_in',
    says: (told) =>
      `signed in${SIGN_IN_WAYS[told.text('by') ?? ''] ?? ''}${withKeys(told, 'for the first time, which revoked their keys')}`,
  },
  'person.sign_in_failed': { kind: 'sign_in', says: ({ name }) => `entered an incorrect password for ${name}` },
  'person.signed_out': {
    kind: 'sign_in',
    says: ({ name, text }) => (text('name') === undefined ? 'signed out' : `signed ${name} out everywhere`),
  },
  'person.changed_password': { kind: 'sign_in', says: () => 'changed their password' },
  'person.forgot_password': { kind: 'sign_in', says: ({ name }) => `requested a password reset link for ${name}` },
  'person.reset_password': { kind: 'sign_in', says: () => 'set a new password with a link' },
  'person.reset_sign_in': { kind: 'sign_in', says: () => 'set up a new sign-in with a link' },
  'person.code_failed': { kind: 'sign_in', says: ({ name }) => `entered an incorrect two-factor code for ${name}` },
  'person.second_factor_added': { kind: 'sign_in', says: () => 'turned on two-factor authentication' },
  'person.second_factor_removed': { kind: 'sign_in', says: () => 'turned off two-factor authentication' },
  'person.recovery_codes_renewed': { kind: 'sign_in', says: () => 'created new recovery codes' },
  'person.passkey_added': { kind: 'sign_in', says: ({ name }) => `added the passkey ${name}` },
  'person.passkey_renamed': { kind: 'sign_in', says: ({ name }) => `renamed a passkey to ${name}` },
  'person.passkey_removed': { kind: 'sign_in', says: ({ name }) => `removed the passkey ${name}` },
  'person.passkey_refused': { kind: 'sign_in', says: ({ name }) => `failed to sign in with a passkey of ${name}` },
  'person.second_factor_reset': { kind: 'team', says: ({ name }) => `reset two-factor authentication for ${name}` },
  'session.ended': { kind: 'sign_in', says: () => 'ended one of their sessions' },
} satisfies Record<string, ActionMeaning>;

export type AuditAction = keyof typeof AUDIT_ACTIONS;

/** The actions of one kind. */
export function actionsOf(kind: AuditKind): string[] {
  return Object.entries(AUDIT_ACTIONS).flatMap(([action, meaning]) => (meaning.kind === kind ? [action] : []));
}

/** What was done, as a sentence without its subject; for an action of another version, its name. */
export function auditSentence(
  action: string,
  target: string | null,
  details: Readonly<Record<string, unknown>>,
): string {
  const text = (field: string): string | undefined => {
    const value = details[field];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  };
  const name = `“${text('name') ?? text('url') ?? target ?? 'unknown'}”`;
  const meaning: ActionMeaning | undefined = isAction(action) ? AUDIT_ACTIONS[action] : undefined;
  if (meaning !== undefined) return meaning.says({ name, target, text, details });
  return target === null ? action : `${action}: ${name}`;
}

function isAction(action: string): action is AuditAction {
  return Object.hasOwn(AUDIT_ACTIONS, action);
}

function inModel(model: string | undefined): string {
  return withDetail(model, (known) => ` with ${known}`);
}
