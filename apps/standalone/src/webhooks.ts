import { parseArgs } from 'node:util';
import { loadConfig } from '#config/load-config.js';
import { AppError } from '#contract/app-error.js';
import { WEBHOOK_EVENTS, type WebhookEventType } from '#contract/webhook-event.js';
import { DEFAULT_ACCOUNT } from '#accounts/api-keys.js';
import type { PrismaService } from '#database/prisma.service.js';
import { EgressConfig } from '#egress/egress.config.js';
import { publicUrlProblem } from '#egress/public-url.js';
import { SetupError } from '#embedded/setup-error.js';
import { TextSealer } from '#secrets/sealed-text.js';
import { DeliveryLogStore, type LoggedAttempt, type LoggedDelivery } from '#webhooks/delivery-log-store.js';
import { WebhookEndpointStore, type WebhookEndpoint } from '#webhooks/endpoint-store.js';
import { WEBHOOK_SECRETS, WebhookSecretStore, type WebhookSecret } from '#webhooks/secret-store.js';
import { shownUrl } from '#webhooks/shown-url.js';
import { WebhooksConfig } from '#webhooks/webhooks.config.js';
import { namedAccount } from './account-option.js';
import { noteCommand } from './note-command.js';
import { StandaloneConfig } from './standalone.config.js';
import { findRunning, notRunning, requireDatabaseUrl, withDatabase } from './running.js';
import { textTable, textTime } from './text-table.js';

const USAGE = `How to use it:
  npm run webhooks -- add <https URL> [--events completed,failed,cancelled]
  npm run webhooks -- list
  npm run webhooks -- enable|disable|remove <endpoint id>
  npm run webhooks -- secret
  npm run webhooks -- rotate [--overlap-hours 24]
  npm run webhooks -- deliveries [--task <task id>] [--limit 20]
  npm run webhooks -- resend <delivery id>
Each takes --account <account id>; without it the default account is meant.`;

const MAX_URL_LENGTH = 2_048;
const HOUR_MS = 3_600_000;
/** How many positional words follow each command. */
const COMMANDS = { add: 1, list: 0, enable: 1, disable: 1, remove: 1, secret: 0, rotate: 0, deliveries: 0, resend: 1 };
type Command = keyof typeof COMMANDS;
/** What the audit log calls them. */
const ACTIONS = {
  add: 'webhook_endpoint.added',
  enable: 'webhook_endpoint.enabled',
  disable: 'webhook_endpoint.disabled',
  remove: 'webhook_endpoint.removed',
} as const;

interface Asked {
  readonly command: Command;
  readonly target: string;
  readonly account: string;
  readonly events: readonly WebhookEventType[];
  readonly overlapMs: number;
  readonly taskId: string | undefined;
  readonly limit: number;
}

/** `webhooks add|list|...`. Throws SetupError with a sentence or the usage. */
export async function webhooks(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<void> {
  const asked = parse(args);
  const [config, egress, limits] = loadConfig([StandaloneConfig, EgressConfig, WebhooksConfig], env);
  if (asked.command === 'add') assertReceiver(asked.target, egress);
  await withDatabase(requireDatabaseUrl(config), async (database) => {
    await namedAccount(database, asked.account);
    if (asked.command === 'secret' || asked.command === 'rotate') say(await secretText(asked, database, config));
    else if (asked.command === 'deliveries')
      say(deliveryTable(await new DeliveryLogStore(database).list(asked.account, asked)));
    else if (asked.command === 'resend') say(await resent(asked, database));
    else say(await endpointText(asked, database, limits));
  });
}

function parse(args: readonly string[]): Asked {
  const { values, positionals } = parsed(args);
  const [command = '', target = ''] = positionals;
  const events = (values.events ?? 'completed,failed,cancelled').split(',').map((name) => `image.task.${name.trim()}`);
  const [hours, limit] = [Number(values['overlap-hours'] ?? 24), Number(values.limit ?? 20)];
  const known = command in COMMANDS && positionals.length === 1 + COMMANDS[command as Command];
  const sane = hours >= 0 && hours <= 720 && Number.isInteger(limit) && limit >= 1 && limit <= 100;
  if (!known || !sane || !events.every(isEvent)) throw new SetupError(USAGE);
  const { account = DEFAULT_ACCOUNT, task: taskId } = values;
  return { command: command as Command, target, account, events, overlapMs: hours * HOUR_MS, taskId, limit };
}

function parsed(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const options = { account: text, events: text, 'overlap-hours': text, task: text, limit: text };
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch {
    throw new SetupError(USAGE);
  }
}

function isEvent(name: string): name is WebhookEventType {
  return (WEBHOOK_EVENTS as readonly string[]).includes(name);
}

function assertReceiver(url: string, egress: EgressConfig): void {
  const problem =
    url.length > MAX_URL_LENGTH ? 'The URL is too long.' : publicUrlProblem(url, egress, { httpsOnly: true });
  if (problem !== undefined) throw new SetupError(problem);
}

async function secretText(asked: Asked, database: PrismaService, config: StandaloneConfig): Promise<string> {
  const { secretKey } = findRunning(config);
  if (secretKey === undefined) throw new SetupError(`SECRET_KEY is not known: ${notRunning(config, 'SECRET_KEY')}.`);
  const sealer = new TextSealer({ secretKey, secretKeyPrevious: config.secretKeyPrevious }, WEBHOOK_SECRETS);
  const secrets = new WebhookSecretStore(database, sealer);
  if (asked.command === 'rotate') {
    const { id } = await secrets.rotate(asked.account, asked.overlapMs);
    const details = { overlap_hours: asked.overlapMs / HOUR_MS };
    await noteCommand(database, 'webhook_secret.rotated', { account: asked.account, target: id, details });
  }
  return (await secrets.valid(asked.account)).map(secretLine).join('\n');
}

function secretLine({ secret, expiresAt }: WebhookSecret): string {
  return expiresAt === null ? secret : `${secret}  (the one before, valid until ${textTime(expiresAt)})`;
}

async function endpointText(asked: Asked, database: PrismaService, limits: WebhooksConfig): Promise<string> {
  const { command, account, target, events } = asked;
  const endpoints = new WebhookEndpointStore(database, limits);
  switch (command) {
    case 'add': {
      const id = await endpoints.add(account, target, events).catch((error: unknown) => {
        throw error instanceof AppError ? new SetupError(error.message) : error;
      });
      await noteCommand(database, ACTIONS[command], {
        account,
        target: id,
        details: { url: shownUrl(target), events },
      });
      return `${id} is told from now on. \`npm run webhooks -- secret\` shows what its webhooks are signed with.`;
    }
    case 'enable':
    case 'disable':
    case 'remove': {
      const endpoint = await endpoints.find(account, target);
      if (endpoint === undefined || !(await endpoints[command](account, target))) {
        throw new SetupError(`There is no endpoint ${target}.`);
      }
      await noteCommand(database, ACTIONS[command], { account, target, details: { url: shownUrl(endpoint.url) } });
      return `${target} is ${command}d.`;
    }
    default:
      return endpointTable(await endpoints.list(account));
  }
}

function endpointTable(endpoints: readonly WebhookEndpoint[]): string {
  return textTable([
    ['ID', 'EVENTS', 'STATE', 'URL'],
    ...endpoints.map(({ id, url, events, disabledAt, disabledReason }) => [
      id,
      events.map((name) => name.replace('image.task.', '')).join(','),
      disabledAt === null ? 'active' : `disabled ${textTime(disabledAt)}${disabledReason === 'gone' ? ' (410)' : ''}`,
      url,
    ]),
  ]);
}

function deliveryTable(deliveries: readonly LoggedDelivery[]): string {
  return textTable([
    ['ID', 'TASK', 'EVENT', 'TO', 'STATE', 'NEXT TRY', 'ATTEMPTS'],
    ...deliveries.map(({ id, taskId, event, endpointId, state, nextTryAt, attempts }) => [
      ...[id, taskId ?? '-', event.replace('image.task.', ''), endpointId ?? 'callback_url', state],
      nextTryAt === null ? '-' : textTime(nextTryAt),
      attempts.map(attemptText).join(', '),
    ]),
  ]);
}

function attemptText({ startedAt, status, error, durationMs }: LoggedAttempt): string {
  return `${textTime(startedAt)} ${status ?? error ?? 'no outcome'}${durationMs === null ? '' : ` ${durationMs} ms`}`;
}

async function resent({ account, target }: Asked, database: PrismaService): Promise<string> {
  const entry = await new DeliveryLogStore(database).resend(account, target);
  if (entry === undefined)
    throw new SetupError(`There is no delivery ${target}, or it is being attempted at this moment.`);
  await noteCommand(database, 'webhook_delivery.resent', { account, target });
  return `${target} is sent again within a few seconds, under the same webhook-id.`;
}
