import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { removeView, saveView } from './accounts.sql.js';

const MAX_VIEWS = 20;

/** Filters under a name that is unique for its person. */
export interface SavedView {
  readonly name: string;
  readonly filters: Readonly<Record<string, string>>;
}

/** The filters of the task list that people saved, in their row: few, and read and erased with it. */
@Injectable()
export class SavedViews {
  constructor(private readonly prisma: PrismaService) {}

  /** Sorted by name. */
  async list(personId: string): Promise<SavedView[]> {
    const row = await this.prisma.person.findUnique({ where: { id: personId }, select: { taskViews: true } });
    const views = (row?.taskViews ?? {}) as Readonly<Record<string, SavedView['filters']>>;
    return Object.entries(views)
      .map(([name, filters]) => ({ name, filters }))
      .sort((a, b) => a.name.localeCompare(b.name, 'en'));
  }

  /** Saves a view, or replaces the one with its name; false when the person has 20 others. */
  async save(personId: string, { name, filters }: SavedView): Promise<boolean> {
    return await saveView(this.prisma.pool, personId, name, filters, MAX_VIEWS);
  }

  /** Deletes a view, if there is one with this name. */
  async remove(personId: string, name: string): Promise<void> {
    await removeView(this.prisma.pool, personId, name);
  }
}
