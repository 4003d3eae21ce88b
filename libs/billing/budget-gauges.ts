import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Metrics, cachedFor } from '#telemetry/metrics.js';
import { BudgetRepository } from './budget.repository.js';

const NEARLY = 0.8;
const READ_EVERY_MS = 60_000;

/** Gauges of nearly spent budgets, without their owners: those are in the console. */
@Injectable()
export class BudgetGauges implements OnModuleInit {
  constructor(
    private readonly metrics: Metrics,
    private readonly budgets: BudgetRepository,
  ) {}

  onModuleInit(): void {
    this.metrics.gauges(
      'budgets_nearly_spent',
      'Budgets that are at least 80% spent, by type of owner; the same on every process.',
      'owner',
      cachedFor(READ_EVERY_MS, () => this.budgets.countSpent(NEARLY)),
    );
  }
}
