import { InvalidArgumentError, Option, type Command } from 'commander';
import { loadConfig } from '#config/load-config.js';
import { AppError } from '#contract/app-error.js';
import { END_EVENTS, WEBHOOK_EVENTS, type WebhookEventType } from '#contract/webhook-event.js';
import type { PrismaService } from '#database/prisma.service.js';
import { EgressConfig } from '#egress/egress.config.js';
import { receiverUrlProblem } from '#egress/public-url.js';
import { SetupError } from '#embedded/setup-error.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { DeliveryLog, type LoggedAttempt, type LoggedDelivery } from '#notifications/deliveries/delivery-log.js';
import { NewDeliveries } from '#notifications/deliveries/new-deliveries.js';
import { EndpointStore, type WebhookEndpoint, shownUrl } from '#notifications/endpoint-store.js';
import { WEBHOOK_SECRETS, WebhookSecretStore, type WebhookSecret } from '#notifications/secret-store.js';
import { WebhooksConfig } from '#notifications/webhooks.config.js';
import { accountOption, namedAccount } from './account-option.js';
import { noteCommand } from './note-command.js';
import { StandaloneConfig } from '../platform/standalone.config.js';
import { findRunning, notRunning, requireDatabaseUrl, withDatabase } from '../platform/running.js';
import { commandLine, runTerminalCommand, subcommand, terminalCommand } from './terminal-command.js';
import { textTable, textTime } from './text-table.js';

const EVENT_PREFIX = 'image.task.';
const HOUR_MS = 3_600_000;
const MAX_OVERLAP_HOURS = 720;
const MAX_DELIVERIES = 100;
/** Action names in the audit log. */
const ACTIONS = {
  enable: 'webhook_endpoint.enabled',
  disable: 'webhook_endpoint.disabled',
  remove: 'webhook_endpoint.removed',
} as const;

interface AccountOptions {
  readonly account: string;
}
interface AddOptions extends AccountOptions {
  readonly events: readonly WebhookEventType[];
}
interface RotateOptions extends AccountOptions {
  readonly overlapHours: number;
}
interface DeliveryOptions extends AccountOptions {
  readonly task?: string;
  readonly limit: number;
}

/** `webhooks add|list|...`. Throws SetupError that explains the problem. */
export async function webhooks(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<void> {
  const [config, egress, limits] = loadConfig([StandaloneConfig, EgressConfig, WebhooksConfig], env);
  const tell = (account: string, work: (database: PrismaService) => Promise<string>): Promise<void> =>
    withDatabase(requireDatabaseUrl(config), async (database) => {
      await namedAccount(database, account);
      say(await work(database));
    });
  const program = terminalCommand('webhooks', 'Manages webhook endpoints and deliveries of an account.', say);
  const command = (usage: string, description: string, ...options: readonly Option[]): Command =>
    subcommand(program, usage, description, [...options, accountOption()]);

  command('add <url>', 'add an endpoint with an https URL', eventsOption()).action(
    async (url: string, { account, events }: AddOptions) => {
      assertReceiver(url, egress);
      await tell(account, (database) => added(new EndpointStore(database, limits), database, account, url, events));
    },
  );
  command('list', 'list endpoints').action(({ account }: AccountOptions) =>
    tell(account, async (database) => endpointTable(await new EndpointStore(database, limits).list(account))),
  );
  for (const change of ['enable', 'disable', 'remove'] as const)
    command(`${change} <endpoint>`, `${change} an endpoint`).action((id: string, { account }: AccountOptions) =>
      tell(account, (database) => changed(new EndpointStore(database, limits), database, account, id, change)),
    );
  command('secret', 'show the signing secret').action(({ account }: AccountOptions) =>
    tell(account, (database) => shownSecrets(secretStore(database, config), account)),
  );
  command('rotate', 'create a new signing secret', overlapOption()).action(({ account, overlapHours }: RotateOptions) =>
    tell(account, (database) => rotated(secretStore(database, config), database, account, overlapHours)),
  );
  command(
    'deliveries',
    'show deliveries',
    new Option('--task <id>', 'only deliveries of this task'),
    limitOption(),
  ).action(({ account, task: taskId, limit }: DeliveryOptions) =>
    tell(account, async (database) =>
      deliveryTable(
        await new DeliveryLog(database, new EndpointStore(database, limits)).list(account, { taskId, limit }),
      ),
    ),
  );
  command('resend <delivery>', 'send a delivery again').action((id: string, { account }: AccountOptions) =>
    tell(account, (database) =>
      resent(new NewDeliveries(database, new EndpointStore(database, limits)), database, account, id),
    ),
  );
  await runTerminalCommand(program, args);
}

function eventsOption(): Option {
  const names = WEBHOOK_EVENTS.map((event) => event.replace(EVENT_PREFIX, ''));
  return new Option('--events <names>', `which events: ${names.join(',')}`)
    .default(END_EVENTS, 'all but held')
    .argParser((given: string) => {
      const events = given.split(',').map((name) => EVENT_PREFIX + name.trim());
      if (events.every(isEvent)) return events;
      throw new InvalidArgumentError(`It must be one or more of ${names.join(', ')}, separated by commas.`);
    });
}

function overlapOption(): Option {
  return new Option('--overlap-hours <hours>', 'how long the previous secret stays valid')
    .default(24)
    .argParser((given: string) => {
      const hours = Number(given);
      if (hours >= 0 && hours <= MAX_OVERLAP_HOURS) return hours;
      throw new InvalidArgumentError(`It must be 0 to ${MAX_OVERLAP_HOURS} hours.`);
    });
}

function limitOption(): Option {
  return new Option('--limit <number>', 'number of deliveries, newest first').default(20).argParser((given: string) => {
    const limit = Number(given);
    if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_DELIVERIES) return limit;
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${MAX_DELIVERIES}.`);
  });
}

function isEvent(name: string): name is WebhookEventType {
  return (WEBHOOK_EVENTS as readonly string[]).includes(name);
}

function assertReceiver(url: string, egress: EgressConfig): void {
  const problem = receiverUrlProblem(url, egress);
  if (problem !== undefined) throw new SetupError(problem);
}

function secretStore(database: PrismaService, config: StandaloneConfig): WebhookSecretStore {
  const { secretKey } = findRunning(config);
  if (secretKey === undefined) throw new SetupError(`SECRET_KEY is unknown: ${notRunning(config, 'SECRET_KEY')}.`);
  const sealer = new TextSealer({ secretKey, secretKeyPrevious: config.secretKeyPrevious }, WEBHOOK_SECRETS);
  return new WebhookSecretStore(database, sealer);
}

async function shownSecrets(secrets: WebhookSecretStore, account: string): Promise<string> {
  return (await secrets.valid(account)).map(secretLine).join('\n');
}

async function rotated(
  secrets: WebhookSecretStore,
  database: PrismaService,
  account: string,
  overlapHours: number,
): Promise<string> {
  const { id } = await secrets.rotate(account, overlapHours * HOUR_MS);
  const details = { overlap_hours: overlapHours };
  await noteCommand(database, 'webhook_secret.rotated', { account, target: id, details });
  return await shownSecrets(secrets, account);
}

function secretLine({ secret, expiresAt }: WebhookSecret): string {
  return expiresAt === null ? secret : `${secret}  (previous secret, valid until ${textTime(expiresAt)})`;
}

async function added(
  endpoints: EndpointStore,
  database: PrismaService,
  account: string,
  url: string,
  events: readonly WebhookEventType[],
): Promise<string> {
  const id = await endpoints.add(account, url, events).catch((error: unknown) => {
    throw error instanceof AppError ? new SetupError(error.message) : error;
  });
  const details = { url: shownUrl(url), events };
  await noteCommand(database, 'webhook_endpoint.added', { account, target: id, details });
  return `${id} was added and receives events from now on. \`${commandLine('webhooks')} secret\` shows the signing secret.`;
}

async function changed(
  endpoints: EndpointStore,
  database: PrismaService,
  account: string,
  id: string,
  change: keyof typeof ACTIONS,
): Promise<string> {
  const endpoint = await endpoints.find(account, id);
  if (endpoint === undefined || !(await endpoints[change](account, id)))
    throw new SetupError(`There is no endpoint ${id}.`);
  await noteCommand(database, ACTIONS[change], { account, target: id, details: { url: shownUrl(endpoint.url) } });
  return `${id} is ${change}d.`;
}

function endpointTable(endpoints: readonly WebhookEndpoint[]): string {
  return textTable([
    ['ID', 'EVENTS', 'STATE', 'URL'],
    ...endpoints.map(({ id, url, events, disabledAt, disabledReason }) => [
      id,
      events.map((name) => name.replace(EVENT_PREFIX, '')).join(','),
      disabledAt === null ? 'active' : `disabled ${textTime(disabledAt)}${disabledReason === 'gone' ? ' (410)' : ''}`,
      url,
    ]),
  ]);
}

function deliveryTable(deliveries: readonly LoggedDelivery[]): string {
  return textTable([
    ['ID', 'TASK', 'EVENT', 'TO', 'STATE', 'NEXT TRY', 'ATTEMPTS'],
    ...deliveries.map(({ id, taskId, event, endpointId, state, nextTryAt, attempts }) => [
      ...[id, taskId ?? '-', event.replace(EVENT_PREFIX, ''), endpointId ?? 'callback_url', state],
      nextTryAt === null ? '-' : textTime(nextTryAt),
      attempts.map(attemptText).join(', '),
    ]),
  ]);
}

function attemptText({ startedAt, status, error, durationMs }: LoggedAttempt): string {
  return `${textTime(startedAt)} ${status ?? error ?? 'no outcome'}${durationMs === null ? '' : ` ${durationMs} ms`}`;
}

async function resent(
  deliveries: NewDeliveries,
  database: PrismaService,
  account: string,
  target: string,
): Promise<string> {
  const entry = await deliveries.resend(account, target);
  if (entry === undefined) throw new SetupError(`The delivery ${target} does not exist, or an attempt is in progress.`);
  await noteCommand(database, 'webhook_delivery.resent', { account, target });
  return `${target} will be sent again within a few seconds, with the same webhook-id.`;
}
