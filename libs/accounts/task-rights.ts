import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { KEY_MAKERS, storedKeyTasks } from './api-keys.js';
import { may, roleOf, type Role } from './person-rules.js';

/** What of a key's row decides about its rights. */
interface KeyOrigin {
  readonly id: string;
  readonly accountId: string;
  readonly createdBy: string | null;
  /** One of KEY_TASKS. */
  readonly tasks: string;
  readonly originalKeyId: string | null;
  /** Null = no client that its user has authorized. */
  readonly oauthClient: string | null;
}

/** The tasks of a person, and of some keys, where not all of the account are to be seen. */
interface SeenTasks {
  readonly personId: string | null;
  readonly keyIds: readonly string[];
}

/** What a key may do now, beyond its own settings. */
interface KeyRights {
  /** Undefined: all tasks of the account. */
  readonly own: SeenTasks | undefined;
  /** Present role of the user who created it; undefined = no user did. */
  readonly role: Role | undefined;
}

/** Which of an account's tasks a user or a key may see and cancel. */
@Injectable()
export class TaskRights {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * The tasks that a user may see and cancel: those that they ordered in the console or that their keys created,
   * including ended keys; undefined for users who may see all.
   */
  async ofPerson(who: {
    readonly accountId: string;
    readonly personId: string;
    readonly role: Role;
  }): Promise<SeenTasks | undefined> {
    const { accountId, personId } = who;
    if (may(who, 'tasks.read_all')) return undefined;
    const where = { accountId, createdBy: personId, hidden: false };
    const keys = await this.prisma.apiKey.findMany({ where, select: { id: true } });
    return { personId, keyIds: keys.map(({ id }) => id) };
  }

  /** The tasks that a key may see and cancel (KEY_TASKS), and the role that limits what it does at all. */
  async ofKey({ id, accountId, createdBy, tasks, originalKeyId, oauthClient }: KeyOrigin): Promise<KeyRights> {
    const isOfUser = createdBy !== null && !KEY_MAKERS.some((maker) => maker === createdBy);
    // Deleted users keep their role, so a key that outlives its user may do no more than before.
    const reading = isOfUser ? this.prisma.person.findFirst({ where: { id: createdBy, accountId } }) : null;
    if (storedKeyTasks(tasks) === 'own') {
      const original = originalKeyId ?? id;
      // A client may count as one with a key, but is no rotation of it.
      const rotations = { oauthClient: null, OR: [{ id: original }, { originalKeyId: original }] };
      const where = { accountId, ...(oauthClient === null ? rotations : { id }) };
      const chain = this.prisma.apiKey.findMany({ where, select: { id: true } });
      const [person, keys] = await Promise.all([reading, chain]);
      return {
        own: { personId: null, keyIds: keys.map((one) => one.id) },
        role: person === null ? undefined : roleOf(person),
      };
    }
    if (!isOfUser) return { own: undefined, role: undefined };
    const person = await reading;
    if (person === null) return { own: { personId: createdBy, keyIds: [id] }, role: undefined };
    const role = roleOf(person);
    const isReader = may({ accountId, role }, 'tasks.read_all') && !may({ accountId, role }, 'tasks.create');
    // Programs that hold a key do not come to see more because its user now only reads.
    const own = await this.ofPerson({ accountId, personId: createdBy, role: isReader ? 'member' : role });
    return { own, role };
  }
}
