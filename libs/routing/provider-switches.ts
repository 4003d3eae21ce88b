import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';

/** A provider that gets no new calls. */
export interface ProviderSwitch {
  readonly provider: string;
  readonly drainedAt: Date;
  /** Why, in an operator's words. */
  readonly reason: string | null;
}

/** What an operator may say of why a provider is off: 1 to 200 visible characters. */
export const DRAIN_REASON = /^(?:[^\p{C}]|[\u200c\u200d]){1,200}$/u;

/** The providers that are switched off for new calls. */
@Injectable()
export class ProviderSwitches {
  constructor(private readonly prisma: PrismaService) {}

  /** Switches a provider off. One that is off already keeps its time, and its reason unless there is a new one. */
  async drain(provider: string, reason: string | null): Promise<void> {
    const { count } = await this.prisma.providerSwitch.createMany({ data: { provider, reason }, skipDuplicates: true });
    if (count === 1 || reason === null) return;
    await this.prisma.providerSwitch.updateMany({ where: { provider }, data: { reason } });
  }

  /** Switches a provider on again; false when it was not off. */
  async resume(provider: string): Promise<boolean> {
    return (await this.prisma.providerSwitch.deleteMany({ where: { provider } })).count === 1;
  }

  /** All that are off. */
  async list(): Promise<ProviderSwitch[]> {
    return await this.prisma.providerSwitch.findMany({ orderBy: { provider: 'asc' } });
  }
}
