import { Injectable } from '@nestjs/common';
import { CatalogSource } from '#catalog/catalog-source.js';
import { AppError } from '#contract/app-error.js';
import { costView, type CostView } from '#contract/cost-view.js';
import { pixelsFor } from '#contract/pixel-table.js';
import { SubmitTask } from '#tasks/intake/submit-task.js';
import { newTaskId } from '#tasks/row/task-id.js';
import type { TaskOptions } from '#tasks/row/task.js';
import { taskOwnerOf } from '../../auth/caller.js';
import { ImageModels } from '../../images/image-models.js';
import type { Session } from '#accounts/session-store.js';
import { ConsoleCaller } from '../tasks/console-caller.js';

/** Deadline of a test, in ms. */
const DEADLINE_MS = 120_000;
const PROMPT = 'A small red toy boat on a white table, in plain daylight.';
/** The smallest image available. */
const OPTIONS: TaskOptions = {
  size: '1:1',
  resolution: '1k',
  pixels: pixelsFor('1:1', '1k'),
  quality: 'low',
  background: null,
  moderation: null,
  inputFidelity: null,
  outputFormat: 'png',
  outputCompression: null,
  user: null,
};

/** A model to test a provider with, and the cost of that. */
export interface Trial {
  readonly model: string;
  /** Null when it is free. */
  readonly cost: CostView | null;
}

/** Generates one small image with one provider, in the same way as any other image. */
@Injectable()
export class ProviderTest {
  constructor(
    private readonly source: CatalogSource,
    private readonly tasks: SubmitTask,
    private readonly models: ImageModels,
    private readonly callers: ConsoleCaller,
  ) {}

  /** The image models that a provider serves, in the catalog's order. */
  trials(provider: string): Trial[] {
    return this.modelsOf(provider).map((model) => {
      const cost = this.models.costOf(model, OPTIONS);
      return { model, cost: cost && costView('pending', cost) };
    });
  }

  /**
   * Returns the id of the new task. Without a model, it uses the provider's first. Throws AppError: `not_found`,
   * `model_not_found`, and those of SubmitTask.
   */
  async run(session: Session, provider: string, asked: string | undefined, requestId: string): Promise<string> {
    if (!this.source.current.providers.has(provider)) throw new AppError('not_found', 'Provider not found.');
    const models = this.modelsOf(provider);
    const model = asked ?? models[0];
    if (model === undefined || !models.includes(model)) {
      throw new AppError('model_not_found', 'The provider does not serve that image model.', { param: 'model' });
    }
    // Without a threshold, because tests need no approval.
    const orderer = taskOwnerOf(await this.callers.ofTest(session));
    const id = newTaskId();
    const options = { ...OPTIONS, onlyProvider: provider };
    await this.tasks.submit({
      ...orderer,
      id,
      requestId,
      action: 'generation',
      model,
      prompt: PROMPT,
      options,
      inputs: [],
      mask: null,
      callbackUrl: null,
      asynchronous: false,
      deadlineMs: DEADLINE_MS,
      cost: this.models.costOf(model, options),
    });
    return id;
  }

  private modelsOf(name: string): string[] {
    return [...this.source.current.models.values()]
      .filter(({ kind, ranks }) => kind === 'image' && ranks.flat().some(({ provider }) => provider === name))
      .map((model) => model.name);
  }
}
