import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Metrics, rarely } from '#telemetry/metrics.js';
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
      'Budgets of which 80 % are spent, by whom they are of; the same at every process.',
      'owner',
      rarely(READ_EVERY_MS, () => this.budgets.countSpent(NEARLY)),
    );
  }
}
