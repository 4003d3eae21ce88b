import { loadConfig } from '#config/load-config.js';
import type { PrismaService } from '#database/prisma.service.js';
import { SetupError } from '#embedded/setup-error.js';
import { LinkStore } from '#accounts/link-store.js';
import { storedEmailOf } from '#accounts/person-rules.js';
import { PersonStore, type Person } from '#accounts/person-store.js';
import { SECOND_FACTORS, SecondFactorStore } from '#accounts/second-factor-store.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { noteCommand } from './note-command.js';
import { StandaloneConfig } from '../platform/standalone.config.js';
import { findRunning, notRunning, requireDatabaseUrl, withDatabase } from '../platform/running.js';
import { commandLine, runTerminalCommand, subcommand, terminalCommand } from './terminal-command.js';
import { textTable, textTime } from './text-table.js';

interface Opened {
  readonly database: PrismaService;
  readonly secretKey: string;
  /** Address of the console. */
  readonly url: string;
  readonly people: readonly Person[];
}

/** `admin link|list|reset-password|reset-two-factor`. Throws SetupError that explains the problem. */
export async function admin(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<void> {
  const [config] = loadConfig([StandaloneConfig], env);
  const tell = (find: (opened: Opened) => Promise<string> | string): Promise<void> =>
    withPeople(config, async (opened) => say(await find(opened)));
  const program = terminalCommand('admin', 'Manages console users. Links work once and expire after 24 hours.', say);
  subcommand(program, 'link', 'print a link that creates the first owner').action(() =>
    tell(async ({ database, secretKey, url, people }) => {
      const link = (await firstAdminLink(database, secretKey, url)) ?? thereIsOne(people);
      await noteCommand(database, 'first_admin.link_made', {});
      return link;
    }),
  );
  subcommand(program, 'list', 'list console users').action(() => tell(({ people }) => table(people)));
  subcommand(program, 'reset-password <email> [account]', 'print a password reset link').action(
    (email: string, account?: string) =>
      tell(({ database, secretKey, url, people }) =>
        passwordLink(database, secretKey, url, personOf(people, email, account)),
      ),
  );
  subcommand(
    program,
    'reset-two-factor <email> [account]',
    'remove the authenticator app, recovery codes, and passkeys of a user who lost them',
  ).action((email: string, account?: string) =>
    tell(({ database, secretKey, people }) => resetTwoFactor(database, secretKey, personOf(people, email, account))),
  );
  await runTerminalCommand(program, args);
}

async function withPeople(config: StandaloneConfig, work: (opened: Opened) => Promise<void>): Promise<void> {
  await withDatabase(requireDatabaseUrl(config), async (database) => {
    const { secretKey, url } = findRunning(config);
    if (secretKey === undefined) throw new SetupError(`SECRET_KEY is unknown: ${notRunning(config, 'SECRET_KEY')}.`);
    if (url === undefined) throw new SetupError(`PUBLIC_URL is unknown: ${notRunning(config, 'PUBLIC_URL')}.`);
    await work({ database, secretKey, url, people: await new PersonStore(database, { secretKey }).list() });
  });
}

/** A link that creates the first owner; undefined when there already is an owner. */
export async function firstAdminLink(
  database: PrismaService,
  secretKey: string,
  url: string,
): Promise<string | undefined> {
  if (await new PersonStore(database, { secretKey }).hasFounder()) return undefined;
  return url + (await new LinkStore(database, { secretKey }).create({ purpose: 'first_admin' }));
}

async function passwordLink(database: PrismaService, secretKey: string, url: string, person: Person): Promise<string> {
  const { id, accountId, name, email } = person;
  const path = await new LinkStore(database, { secretKey }).resetPassword(person, { allAccounts: true });
  const details = { name, email };
  await noteCommand(database, 'person.reset_link_made', { account: accountId, target: id, details });
  return url + path;
}

async function resetTwoFactor(
  database: PrismaService,
  secretKey: string,
  { id, signInId, accountId, name, email }: Person,
): Promise<string> {
  const wasOn = await new SecondFactorStore(database, new TextSealer({ secretKey }, SECOND_FACTORS)).reset(signInId);
  if (!wasOn) throw new SetupError(`${email} has neither two-factor authentication nor a passkey.`);
  await noteCommand(database, 'person.second_factor_reset', {
    account: accountId,
    target: id,
    details: { name, email },
  });
  return `${email} signs in with the password alone until they set up two-factor authentication again.`;
}

/** Throws SetupError unless exactly one user matches. */
function personOf(people: readonly Person[], email: string, accountId: string | undefined): Person {
  const stored = storedEmailOf(email);
  const found = people.filter((one) => one.email === stored && (accountId ?? one.accountId) === one.accountId);
  const [person, ...others] = found;
  if (person === undefined) throw new SetupError(`No member has the email address ${email}.`);
  if (others.length === 0) return person;
  const accounts = found.map((one) => one.accountId).join(', ');
  throw new SetupError(
    `Users of several accounts have the email address ${email} (${accounts}); add an account ID after it.`,
  );
}

function thereIsOne(people: readonly Person[]): never {
  const admins = people.filter(({ role }) => ['owner', 'admin'].includes(role)).map(({ email }) => email);
  throw new SetupError(
    `There is an owner already; ask one of these to invite you: ${admins.join(', ')}. ` +
      `Forgot your password? ${commandLine('admin')} reset-password <email>`,
  );
}

function table(people: readonly Person[]): string {
  if (people.length === 0) return `No members yet. Create a link for the first owner: ${commandLine('admin')} link`;
  return textTable([
    ['EMAIL', 'NAME', 'ROLE', 'ACCOUNT', 'CREATED', 'STATE'],
    ...people.map(({ email, name, role, accountId, createdAt, disabledAt }) => [
      ...[email, name, role, accountId, textTime(createdAt)],
      disabledAt === null ? 'active' : `disabled ${textTime(disabledAt)}`,
    ]),
  ]);
}
