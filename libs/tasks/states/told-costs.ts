import { Injectable } from '@nestjs/common';
import DataLoader from 'dataloader';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';

const TOLD_AT_ONCE = 50;

/** Of which tasks an answer has told the cost, so that whoever adds costs up counts each once. */
@Injectable()
export class ToldCosts {
  /** Answers of one moment share a statement. */
  private readonly tells: DataLoader<string, boolean>;

  constructor(private readonly prisma: PrismaService) {
    this.tells = new DataLoader((ids) => this.tellTogether(ids), {
      cache: false,
      maxBatchSize: TOLD_AT_ONCE,
      batchScheduleFn: setImmediate,
    });
  }

  /** Whether nobody has been told what the task cost; from now on, somebody has. Throws what the database throws. */
  async tell(id: string): Promise<boolean> {
    return this.tells.load(id);
  }

  /** For an answer that did not arrive. Throws what the database throws. */
  async takeBack(id: string): Promise<void> {
    await this.prisma.task.updateMany({ where: { id, costTold: true }, data: { costTold: false } });
  }

  private async tellTogether(ids: readonly string[]): Promise<boolean[]> {
    const rows = await this.prisma.task.updateManyAndReturn({
      where: { id: { in: inList(ids) }, costTold: false },
      data: { costTold: true },
      select: { id: true },
    });
    const told = new Set(rows.map(({ id }) => id));
    return ids.map((id) => told.delete(id));
  }
}
