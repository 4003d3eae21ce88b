import { readdirSync, readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';

/** Delegates of the tables that grow with the history, or that sweeps and people go through. */
const DELEGATES =
  'task|charge|chatUsage|chatReserve|auditEntry|webhookDelivery|webhookAttempt|idempotencyKey|upload|usage[A-Z]\\w+|session|alertEvent';
const METHODS = 'find\\w+|count|create\\w*|update\\w*|upsert|delete\\w*|aggregate|groupBy';
const PRISMA = new RegExp(`\\b(?:${DELEGATES})\\.(?:${METHODS})\\(`);
const RAW = /\.query\b|\$queryRaw|\$executeRaw/;
const CLASS = /^export class (\w+)/;
const FUNCTION = /^(?:export )?(?:async )?function (\w+)/;
const METHOD = /^ {2}(?:private )?(?:async )?(\w+)\(/;

/** Who may go unmeasured on a long history, by why. */
const EXEMPT: Readonly<Record<string, readonly string[]>> = {
  'ends the sessions of people whom somebody changes in the console, found by the index of their persons': [
    'accounts/AccountStore.setDisabled',
    'accounts/AccountStore.delete',
    'accounts/OpenIdPeople.link',
    'accounts/PersonStore.change',
    'accounts/PersonStore.changePassword',
    'accounts/PersonStore.createLinked',
    'accounts/PersonStore.resetCredential',
    'accounts/PersonStore.signOut',
  ],
  'runs when an operator deletes an account': ['notifications/AlertEventRepository.removeAll'],
  'is a command of operators, who may wait': ['accounts/secretUse', 'tasks/EndUnfinished.run'],
  'settings and the log of the server, or no row of a table': [
    'database/readServer',
    'database/readUnsafe',
    'database/setPooledSession',
    'database/tryCommit',
  ],
  'goes through the lines of one batch by their key or an index of theirs, or through the batches that have not ended':
    [
      'batches/takeStep',
      'batches/waitForStep',
      'batches/claimLines',
      'batches/endLines',
      'batches/endWaiting',
      'batches/callLines',
      'batches/renewLines',
      'batches/endInDoubt',
      'batches/failedLines',
    ],
  'looks up rows by their primary keys': [
    'accounts/PasskeyStore.add',
    'accounts/SessionStore.discard',
    'billing/ChatReserves.releaseDoubtful',
    'notifications/DeliveryLog.existing',
    'routing/upsertResponses',
    'tasks/TaskStore.callbackUrls',
    'tasks/TaskStore.phases',
    'tasks/DropInputs.delete',
    'tasks/LostCallers.markCompleted',
    'tasks/RetractTasks.retract',
    'tasks/deleteUnwanted',
    'uploads/UploadRepository.filesAmong',
  ],
};

/** A method that uses one of those delegates, or a function of a *.sql.ts file that sends a statement. */
export interface TableUser {
  readonly file: string;
  /** `room/Class.method`, or `room/function`. */
  readonly name: string;
  readonly functionName: string;
}

/** All of them. Prettier's layout tells where each begins. */
export function tableUsers(): TableUser[] {
  const files = ['libs', 'apps'].flatMap((root) =>
    readdirSync(root, { recursive: true, encoding: 'utf8' }).map((file) => join(root, file)),
  );
  return files
    .filter((file) => /\.ts$/.test(file) && !/\.(spec|fixture)\.ts$|generated|dashboard/.test(file))
    .flatMap(usersOf);
}

function usersOf(file: string): TableUser[] {
  const statement = file.endsWith('.sql.ts') ? RAW : PRISMA;
  const [, room = ''] = file.split('/');
  const users = new Map<string, TableUser>();
  let className = '';
  let functionName = '';
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    className = CLASS.exec(line)?.[1] ?? className;
    functionName = METHOD.exec(line)?.[1] ?? functionName;
    const [, alone] = FUNCTION.exec(line) ?? [];
    if (alone !== undefined) [className, functionName] = ['', alone];
    if (!statement.test(line)) continue;
    const name = `${room}/${className === '' ? '' : `${className}.`}${functionName}`;
    users.set(name, { file, name, functionName });
  }
  return [...users.values()];
}

/** Knows from V8 which functions of which files were called since it was begun. */
export class CallRecord {
  private readonly session = new Session();

  async begin(): Promise<void> {
    this.session.connect();
    await this.session.post('Profiler.enable');
    await this.session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  /** Names of the users that were neither called nor are exempt, and of those that are exempt for nothing. Ends the record. */
  async mistakes(users: readonly TableUser[]): Promise<{ unmeasured: string[]; exemptForNothing: string[] }> {
    const notCalled = (await this.notCalled(users)).map(({ name }) => name);
    const exempt = Object.values(EXEMPT).flat();
    return {
      unmeasured: notCalled.filter((name) => !exempt.includes(name)),
      exemptForNothing: exempt.filter((name) => !notCalled.includes(name)),
    };
  }

  private async notCalled(users: readonly TableUser[]): Promise<TableUser[]> {
    const { result } = await this.session.post('Profiler.takePreciseCoverage');
    this.session.disconnect();
    const called = (file: string) =>
      result
        .filter(({ url }) => url.endsWith(`/${file}`))
        .flatMap(({ functions }) => functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
        .map(({ functionName }) => functionName);
    const byFile = new Map([...new Set(users.map(({ file }) => file))].map((file) => [file, new Set(called(file))]));
    return users.filter(({ file, functionName }) => byFile.get(file)?.has(functionName) !== true);
  }
}
