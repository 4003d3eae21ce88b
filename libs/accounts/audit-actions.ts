/** The parts of an entry's sentence. */
interface EntryParts {
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
  readonly sentence: (told: EntryParts) => string;
}

/** Groups of actions to filter by. */
export const AUDIT_KINDS = ['keys', 'tasks', 'webhooks', 'alerts', 'providers', 'team', 'sign_in', 'refused'] as const;
export type AuditKind = (typeof AUDIT_KINDS)[number];

const withDetail = (text: string | undefined, sentence: (text: string) => string): string =>
  text === undefined ? '' : sentence(text);
const overlap = ({ text }: EntryParts): string =>
  withDetail(text('overlap_hours'), (hours) =>
    hours === '0' ? '; the old one stopped working immediately' : `; the old one works for ${hours} more hours`,
  );
const withKeys = ({ text }: EntryParts, sentence: string): string =>
  withDetail(text('revoked_keys'), (count) => (count === '0' ? '' : ` ${sentence} (${count})`));
const byKey = ({ text }: EntryParts): string => withDetail(text('key'), (id) => ` with the API key ${id}`);
const withReason = ({ text }: EntryParts): string => {
  const source = withDetail(text('provider'), (provider) => `, case ${text('case_id') ?? ''} of ${provider}`);
  return `${source}${withDetail(text('reason'), (reason) => `: “${reason}”`)}`;
};
const ROLE_NAMES: Readonly<Record<string, string>> = {
  owner: 'an owner',
  admin: 'an admin',
  viewer: 'a viewer',
  billing: 'a billing user',
};
const SIGN_IN_WAYS: Readonly<Record<string, string>> = {
  openid: ' by single sign-on',
  passkey: ' with a passkey',
  switch: ' from another account',
};
const role = (name = ''): string => ROLE_NAMES[name] ?? 'a member';

function personChange({ name, details, text }: EntryParts): string {
  const from = text('from');
  if (from !== undefined) return `changed their name from “${from}” to ${name}`;
  const roleChange = withDetail(text('role'), (to) => `made ${name} ${role(to)}`);
  if (details['disabled'] === true) return `${roleChange === '' ? '' : `${roleChange} and `}disabled ${name}`;
  if (details['disabled'] === false) return `${roleChange === '' ? '' : `${roleChange} and `}enabled ${name}`;
  return roleChange === '' ? `changed ${name}` : roleChange;
}

function keyChange({ name, details }: EntryParts): string {
  return `changed the key ${name}${changedFields(details)}`;
}

function deletion({ text }: EntryParts): string {
  const isFiltered = ['status', 'end_user', 'tag'].some((field) => text(field) !== undefined);
  return isFiltered ? 'deleted all tasks that match a filter' : 'deleted all tasks of the account';
}

function accountChange({ name, details }: EntryParts): string {
  return `changed the settings of the account ${name}${changedFields(details)}`;
}

function changedFields({ changes }: EntryParts['details']): string {
  return listed({ fields: typeof changes === 'object' && changes !== null ? Object.keys(changes) : [] });
}

function listed({ fields }: EntryParts['details']): string {
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
function added(noun: 'model' | 'provider', { name, details }: EntryParts): string {
  return details['replaces_built_in'] === true ? `replaced the built-in ${noun} ${name}` : `added the ${noun} ${name}`;
}

/** Revisions are numbered versions of the catalog, each one change after the last. */
function catalogRestored({ target, text }: EntryParts): string {
  const old = Number(target ?? 0);
  const revision = Number(text('revision') ?? 0);
  if (revision - old === 2) return 'undid the last change of providers and models';
  return old === 0 ? 'removed all added providers and models' : `restored version ${old} of providers and models`;
}

/** All actions of the audit log, each named noun and verb. */
export const AUDIT_ACTIONS = {
  'key.created': { kind: 'keys', sentence: ({ name }) => `created the key ${name}` },
  'key.changed': { kind: 'keys', sentence: keyChange },
  'key.rotated': { kind: 'keys', sentence: (told) => `rotated the key ${told.name}${overlap(told)}` },
  'key.authorized': { kind: 'keys', sentence: ({ name }) => `authorized the client ${name}` },
  'key.revoked': { kind: 'keys', sentence: ({ name }) => `revoked the key ${name}` },
  'task.made': {
    kind: 'tasks',
    sentence: ({ text }) => `generated an image in the playground${inModel(text('model'))}`,
  },
  'task.made_again': { kind: 'tasks', sentence: () => 'ran a task again' },
  'batch.created': {
    kind: 'tasks',
    sentence: ({ text }) => `started a batch${withDetail(text('file'), (file) => ` from “${file}”`)}`,
  },
  'batch.cancelled': { kind: 'tasks', sentence: () => 'canceled a batch' },
  'task.approved': { kind: 'tasks', sentence: (told) => `approved a request${byKey(told)}` },
  'task.rejected': {
    kind: 'tasks',
    sentence: (told) =>
      `rejected a request${byKey(told)}${withDetail(told.text('reason'), (reason) => `: “${reason}”`)}`,
  },
  'end_user.flagged': { kind: 'tasks', sentence: (told) => `flagged the end user ${told.name}${withReason(told)}` },
  'end_user.blocked': { kind: 'tasks', sentence: (told) => `blocked the end user ${told.name}${withReason(told)}` },
  'end_user.paused': { kind: 'tasks', sentence: (told) => `paused the end user ${told.name}${withReason(told)}` },
  'end_user.unblocked': {
    kind: 'tasks',
    sentence: (told) => `cleared the end user ${told.name}${withReason(told)}`,
  },
  'end_users.pause_rule_set': {
    kind: 'tasks',
    sentence: ({ text }) =>
      text('refusals') === '0'
        ? 'turned off the pause of end users'
        : `set that end users are paused after ${text('refusals') ?? 'some'} refused requests`,
  },
  'end_users.limits_set': {
    kind: 'tasks',
    sentence: ({ text }) =>
      text('count') === '0'
        ? 'removed the limits of end users and tags'
        : `set limits of end users and tags: ${text('count') ?? 'some'}`,
  },
  'tasks.redriven': { kind: 'tasks', sentence: ({ text }) => `retried ${text('count') ?? 'some'} failed tasks` },
  'tasks.cancelled': { kind: 'tasks', sentence: ({ text }) => `canceled ${text('count') ?? 'some'} tasks` },
  'tasks.exported': { kind: 'tasks', sentence: ({ text }) => `exported ${text('count') ?? 'some'} tasks` },
  'usage.exported': { kind: 'tasks', sentence: () => 'exported the usage' },
  'tasks.deleted': {
    kind: 'tasks',
    sentence: ({ text }) => (text('count') === '1' ? 'deleted a task' : `deleted ${text('count') ?? 'some'} tasks`),
  },
  'tasks.deletion_requested': { kind: 'tasks', sentence: deletion },
  'task.cancelled': { kind: 'tasks', sentence: () => 'canceled a task' },
  'webhook_endpoint.added': { kind: 'webhooks', sentence: ({ name }) => `added the webhook endpoint ${name}` },
  'webhook_endpoint.changed': {
    kind: 'webhooks',
    sentence: ({ name }) => `changed the events of the webhook endpoint ${name}`,
  },
  'webhook_endpoint.disabled': { kind: 'webhooks', sentence: ({ name }) => `disabled the webhook endpoint ${name}` },
  'webhook_endpoint.enabled': { kind: 'webhooks', sentence: ({ name }) => `enabled the webhook endpoint ${name}` },
  'webhook_endpoint.removed': { kind: 'webhooks', sentence: ({ name }) => `removed the webhook endpoint ${name}` },
  'webhook_endpoint.tested': {
    kind: 'webhooks',
    sentence: ({ name }) => `sent a test to the webhook endpoint ${name}`,
  },
  'webhook_secret.rotated': { kind: 'webhooks', sentence: (told) => `rotated the signing secret${overlap(told)}` },
  'webhook_secret.read': { kind: 'webhooks', sentence: () => 'viewed the signing secret' },
  'webhook_delivery.resent': {
    kind: 'webhooks',
    sentence: ({ text }) => `resent a webhook${withDetail(text('url'), (url) => ` to “${url}”`)}`,
  },
  'webhook_deliveries.resent': {
    kind: 'webhooks',
    sentence: ({ name, text }) =>
      `resent ${text('count') === '1' ? 'a failed webhook' : `${text('count') ?? 'all'} failed webhooks`} to ${name}`,
  },
  'alert_rule.enabled': { kind: 'alerts', sentence: ({ name }) => `turned on the alert ${name}` },
  'alert_rule.changed': { kind: 'alerts', sentence: ({ name }) => `changed the alert ${name}` },
  'alert_rule.disabled': { kind: 'alerts', sentence: ({ name }) => `turned off the alert ${name}` },
  'alert.acknowledged': { kind: 'alerts', sentence: ({ name }) => `acknowledged the alert ${name}` },
  'alert_channel.added': { kind: 'alerts', sentence: ({ name }) => `added the alert channel ${name}` },
  'alert_channel.removed': { kind: 'alerts', sentence: ({ name }) => `removed the alert channel ${name}` },
  'alert_channel.tested': { kind: 'alerts', sentence: ({ name }) => `sent a test to the alert channel ${name}` },
  'provider.drained': { kind: 'providers', sentence: ({ name }) => `drained the provider ${name}` },
  'provider.resumed': { kind: 'providers', sentence: ({ name }) => `resumed the provider ${name}` },
  'provider.tried': { kind: 'providers', sentence: ({ name }) => `ended the pause of the provider ${name}` },
  'provider.tested': { kind: 'providers', sentence: ({ name }) => `tested the provider ${name}` },
  'provider.added': { kind: 'providers', sentence: (told) => added('provider', told) },
  'provider.changed': {
    kind: 'providers',
    sentence: ({ name, details }) => `changed the provider ${name}${listed(details)}`,
  },
  'provider.removed': { kind: 'providers', sentence: ({ name }) => `removed the provider ${name}` },
  'model.added': { kind: 'providers', sentence: (told) => added('model', told) },
  'model.changed': {
    kind: 'providers',
    sentence: ({ name, details }) => `changed the model ${name}${listed(details)}`,
  },
  'model.removed': { kind: 'providers', sentence: ({ name }) => `removed the model ${name}` },
  'catalog.restored': { kind: 'providers', sentence: catalogRestored },
  'person.invited': { kind: 'team', sentence: ({ name, text }) => `invited ${name} as ${role(text('role'))}` },
  'person.changed': { kind: 'team', sentence: personChange },
  'person.deleted': {
    kind: 'team',
    sentence: (told) => `deleted ${told.name}${withKeys(told, 'and revoked their keys')}`,
  },
  'person.left': { kind: 'team', sentence: () => 'left the account' },
  'person.reset_link_made': {
    kind: 'team',
    sentence: ({ name }) => `created a password reset link for ${name}`,
  },
  'first_admin.link_made': { kind: 'team', sentence: () => 'created a link for the first owner' },
  'invitation.withdrawn': { kind: 'team', sentence: ({ name }) => `withdrew the invitation for ${name}` },
  'audit.exported': { kind: 'team', sentence: () => 'exported the audit log' },
  'request.refused': {
    kind: 'refused',
    sentence: ({ text }) => `was refused “${text('request') ?? 'a request'}”, which their role does not include`,
  },
  'account.created': { kind: 'team', sentence: ({ name }) => `created the account ${name}` },
  'account.renamed': {
    kind: 'team',
    sentence: ({ name, text }) => `renamed the account${withDetail(text('from'), (from) => ` “${from}”`)} to ${name}`,
  },
  'account.two_factor_required': {
    kind: 'team',
    sentence: () => 'made two-factor authentication required for everyone in the account',
  },
  'account.two_factor_optional': { kind: 'team', sentence: () => 'made two-factor authentication optional' },
  'account.disabled': { kind: 'team', sentence: ({ name }) => `disabled the account ${name}` },
  'account.deleted': { kind: 'team', sentence: ({ name }) => `deleted the account ${name}` },
  'account.enabled': { kind: 'team', sentence: ({ name }) => `enabled the account ${name}` },
  'account.limits_set': { kind: 'team', sentence: accountChange },
  'account.budget_set': { kind: 'team', sentence: ({ name }) => `set the budget of the account ${name}` },
  'person.joined': {
    kind: 'team',
    sentence: ({ text }) => `joined${withDetail(text('invited'), (email) => `, invited as “${email}”`)}`,
  },
  'person.became_first_admin': { kind: 'team', sentence: () => 'became the first owner' },
  'person.signed_in': {
    kind: 'sign_in',
    sentence: (told) =>
      `signed in${SIGN_IN_WAYS[told.text('by') ?? ''] ?? ''}${withKeys(told, 'for the first time, which revoked their keys')}`,
  },
  'person.sign_in_failed': { kind: 'sign_in', sentence: ({ name }) => `entered an incorrect password for ${name}` },
  'person.signed_out': {
    kind: 'sign_in',
    sentence: ({ name, text }) => (text('name') === undefined ? 'signed out' : `signed ${name} out everywhere`),
  },
  'person.changed_password': { kind: 'sign_in', sentence: () => 'changed their password' },
  'person.forgot_password': { kind: 'sign_in', sentence: ({ name }) => `requested a password reset link for ${name}` },
  'person.reset_password': { kind: 'sign_in', sentence: () => 'set a new password with a link' },
  'person.reset_sign_in': { kind: 'sign_in', sentence: () => 'set up a new sign-in with a link' },
  'person.code_asked': {
    kind: 'sign_in',
    sentence: ({ name }) => `entered the correct password for ${name}, and was asked for a two-factor code`,
  },
  'person.code_failed': { kind: 'sign_in', sentence: ({ name }) => `entered an incorrect two-factor code for ${name}` },
  'person.second_factor_added': { kind: 'sign_in', sentence: () => 'turned on two-factor authentication' },
  'person.second_factor_removed': { kind: 'sign_in', sentence: () => 'turned off two-factor authentication' },
  'person.recovery_codes_renewed': { kind: 'sign_in', sentence: () => 'created new recovery codes' },
  'person.passkey_added': { kind: 'sign_in', sentence: ({ name }) => `added the passkey ${name}` },
  'person.passkey_renamed': { kind: 'sign_in', sentence: ({ name }) => `renamed a passkey to ${name}` },
  'person.passkey_removed': { kind: 'sign_in', sentence: ({ name }) => `removed the passkey ${name}` },
  'person.passkey_refused': { kind: 'sign_in', sentence: ({ name }) => `failed to sign in with a passkey of ${name}` },
  'person.second_factor_reset': { kind: 'team', sentence: ({ name }) => `reset two-factor authentication for ${name}` },
  'session.ended': { kind: 'sign_in', sentence: () => 'ended one of their sessions' },
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
  if (meaning !== undefined) return meaning.sentence({ name, target, text, details });
  return target === null ? action : `${action}: ${name}`;
}

function isAction(action: string): action is AuditAction {
  return Object.hasOwn(AUDIT_ACTIONS, action);
}

function inModel(model: string | undefined): string {
  return withDetail(model, (known) => ` with ${known}`);
}
