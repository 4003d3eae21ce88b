import { loadConfig } from '#config/load-config.js';
import type { PrismaService } from '#database/prisma.service.js';
import { SetupError } from '#embedded/setup-error.js';
import { LinkStore } from '#accounts/link-store.js';
import { storedEmailOf } from '#accounts/person-rules.js';
import { PersonStore, type Person } from '#accounts/person-store.js';
import { noteCommand } from './note-command.js';
import { StandaloneConfig } from './standalone.config.js';
import { findRunning, notRunning, requireDatabaseUrl, withDatabase } from './running.js';
import { textTable, textTime } from './text-table.js';

const USAGE = `How to use it:
  npm run admin -- link                    prints a link that makes the first admin of the console
  npm run admin -- list                    shows who may sign in
  npm run admin -- reset-password <e-mail>  prints a link with which that person chooses a new password;
                                           with several accounts, followed by the id of theirs
Each link works once, for 24 hours.`;

/** `admin link|list|reset-password`. Throws SetupError with a sentence or the usage. */
export async function admin(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<void> {
  const [command, email, accountId, ...rest] = args;
  const known = email === undefined ? ['link', 'list'] : ['reset-password'];
  if (command === undefined || !known.includes(command) || rest.length > 0) throw new SetupError(USAGE);
  const [config] = loadConfig([StandaloneConfig], env);
  await withDatabase(requireDatabaseUrl(config), async (database) => {
    const { secretKey, url } = findRunning(config);
    if (secretKey === undefined) throw new SetupError(`SECRET_KEY is not known: ${notRunning(config, 'SECRET_KEY')}.`);
    if (url === undefined) throw new SetupError(`PUBLIC_URL is not known: ${notRunning(config, 'PUBLIC_URL')}.`);
    const people = await new PersonStore(database, { secretKey }).list();
    if (command === 'list') say(table(people));
    else if (command === 'link') say((await firstAdminLink(database, secretKey, url)) ?? thereIsOne(people));
    else say(await passwordLink(database, secretKey, url, personOf(people, email ?? '', accountId)));
  });
}

/** A link that makes the first admin; undefined when there is one. */
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
  const path = await new LinkStore(database, { secretKey }).resetPassword(person);
  const details = { name, email };
  await noteCommand(database, 'person.reset_link_made', { account: accountId, target: id, details });
  return url + path;
}

/** Throws SetupError unless it is one person. */
function personOf(people: readonly Person[], email: string, accountId: string | undefined): Person {
  const stored = storedEmailOf(email);
  const found = people.filter((one) => one.email === stored && (accountId ?? one.accountId) === one.accountId);
  const [person, ...others] = found;
  if (person === undefined) throw new SetupError(`No member has the email address ${email}.`);
  if (others.length === 0) return person;
  const accounts = found.map((one) => one.accountId).join(', ');
  throw new SetupError(`People of several accounts have the address ${email} (${accounts}); name one after it.`);
}

function thereIsOne(people: readonly Person[]): never {
  const admins = people.filter(({ role }) => role === 'admin').map(({ email }) => email);
  throw new SetupError(
    `There is a first admin already (${admins.join(', ')}); people join by invitation from the console. ` +
      'A forgotten password: npm run admin -- reset-password <e-mail>',
  );
}

function table(people: readonly Person[]): string {
  if (people.length === 0) return 'No members yet. Create a link for the first admin: npm run admin -- link';
  return textTable([
    ['E-MAIL', 'NAME', 'ROLE', 'ACCOUNT', 'CREATED', 'STATE'],
    ...people.map(({ email, name, role, accountId, createdAt, disabledAt }) => [
      ...[email, name, role, accountId, textTime(createdAt)],
      disabledAt === null ? 'active' : `disabled ${textTime(disabledAt)}`,
    ]),
  ]);
}
