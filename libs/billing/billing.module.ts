import { Module } from '@nestjs/common';
import { DatabaseModule } from '#database/database.module.js';
import { BudgetGauges } from './budget-gauges.js';
import { BudgetRepository } from './budget.repository.js';
import { ChargeRepository } from './charge.repository.js';
import { ChatReserves } from './chat-reserves.js';
import { ChatUsageRepository } from './chat-usage.repository.js';
import { ExpireChatUsage } from './expire-chat-usage.js';
import { ExpireLedger } from './expire-ledger.js';
import { RollUpUsage } from './roll-up-usage.js';
import { LabelLimits } from './label-limits.repository.js';
import { LabeledUsage } from './labeled-usage.js';
import { UsageRepository } from './usage.repository.js';

const rows = [
  BudgetRepository,
  ChargeRepository,
  ChatReserves,
  ChatUsageRepository,
  LabeledUsage,
  UsageRepository,
  LabelLimits,
];
const parts = [...rows, ExpireChatUsage, ExpireLedger, RollUpUsage];

/** Prices, budgets and usage. Triggers reserve and settle the cost of tasks: ledger.sql. */
@Module({ imports: [DatabaseModule], providers: [...parts, BudgetGauges], exports: parts })
export class BillingModule {}
