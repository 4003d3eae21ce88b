import { Inject, Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { wellFormed } from '#contract/image-options.js';
import { MAX_PROMPT_LENGTH, textProblem } from '#contract/text-rules.js';
import type { GuardrailImage } from '#guardrail/guardrail-message.js';
import { blockedByGuardrail, Guardrail } from '#guardrail/guardrail.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import type { Intake } from '#tasks/intake/attach-task.js';
import { CallerGone, type OpenCall } from '#tasks/intake/open-call.js';
import type { RequestIdentity } from '#tasks/intake/request-identity.js';
import { SubmitTask } from '#tasks/intake/submit-task.js';
import type { TaskCommand, TaskInput } from '#tasks/row/task.js';

/** Submits orders; with a guardrail, it is asked before anything is reserved. */
@Injectable()
export class SubmitChecked {
  constructor(
    private readonly tasks: SubmitTask,
    private readonly guardrail: Guardrail,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
  ) {}

  /** Like SubmitTask; also throws AppError like Guardrail. An equal repeat buys nothing, so it is not checked again. */
  async submit(command: TaskCommand, identity?: RequestIdentity, call?: OpenCall): Promise<Intake> {
    if (!this.guardrail.isOn) return await this.tasks.submit(command, identity, call);
    const repeated = await this.tasks.attachExisting(command, identity, call);
    return repeated ?? (await this.tasks.submit(await this.checked(command, call), identity, call));
  }

  /** The order as it may be bought. */
  private async checked(command: TaskCommand, call: OpenCall | undefined): Promise<TaskCommand> {
    const { id, model, prompt, inputs, mask, accountId, apiKeyId, orderedBy, endUser, tags } = command;
    const images = [...inputs, ...(mask === null ? [] : [mask])].map((input) => this.image(input));
    const about = { callId: id, model, accountId, keyId: apiKeyId, personId: orderedBy, endUser, tags };
    const gone = call?.gone ?? new AbortController().signal;
    const texts = await this.guardrail.check({ ...about, texts: [prompt], images }, gone).catch((error: unknown) => {
      if (gone.aborted) throw new CallerGone();
      const isBlock = error instanceof AppError && error.code === 'moderation_blocked';
      throw isBlock ? error.about('prompt', error.message) : error;
    });
    return texts === undefined ? command : withPrompt(command, texts[0] ?? '');
  }

  private image(input: TaskInput): GuardrailImage {
    if (input.kind === 'url') return { url: input.url };
    const open = async () => (await this.store.open(input.key)).stream as AsyncIterable<Uint8Array>;
    return { bytes: input.bytes, open };
  }
}

/** Throws AppError `moderation_blocked` for a prompt that can't be bought, or not in place of the one that was sent. */
function withPrompt(command: TaskCommand, prompt: string): TaskCommand {
  if (command.options.strict === true)
    throw blockedByGuardrail('It would change the prompt, and the request is strict.', 'prompt');
  if (prompt.trim() === '' || textProblem(prompt, 'prompt', MAX_PROMPT_LENGTH) !== undefined)
    throw blockedByGuardrail('It would change the prompt to one that is not valid.', 'prompt');
  return { ...command, prompt: wellFormed(prompt), options: { ...command.options, promptChanged: true } };
}
