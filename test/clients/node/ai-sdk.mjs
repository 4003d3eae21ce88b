// The AI SDK, whose versions 5, 6 and 7 differ in names: node ai-7/client.mjs <openai|openai-compatible|responses> <job>
import { readFileSync } from 'node:fs';
import { insist, job, report, sizeOf, variant } from './report.mjs';

/** Runs the steps with one version's packages; version 5 can't edit. */
export async function runAiSdk(version, { generateImage, createOpenAI, createOpenAICompatible, edits }) {
  const modelOf = (apiKey) =>
    variant === 'openai'
      ? createOpenAI({ apiKey, baseURL: job.url }).image('gpt-image-2')
      : createOpenAICompatible({ name: 'darkroom', apiKey, baseURL: job.url }).imageModel('gpt-image-2');
  const model = modelOf(job.key);
  const [image, second] = job.images.map((path) => new Uint8Array(readFileSync(path)));
  const mask = new Uint8Array(readFileSync(job.mask));

  const generate = async (prompt, more) => {
    const { image } = await generateImage({ model, prompt, ...more });
    return { base64: sizeOf(image.uint8Array) };
  };
  const size = '1024x1024';
  const editing = {
    edit: () => generate({ text: job.prompts.edit, images: [image] }, {}),
    files: () => generate({ text: job.prompts.files, images: [image, second] }, { size }),
    mask: () => generate({ text: job.prompts.mask, images: [image], mask }, { size }),
    editPatience: () => insist(() => generate({ text: job.prompts.editPatience, images: [image] }, { size })),
  };
  await report(version, {
    generation: () => generate(job.prompts.generation, {}),
    ...(edits ? editing : {}),
    refused: () => generate('a house', { size: '1x100000' }),
    stranger: () => generate('a house', { model: modelOf('sk-nobody') }),
    cut: () => generate(job.prompts.cut, { size }),
    badGateway: () => generate(job.prompts.badGateway, { size }),
    patience: () => insist(() => generate(job.prompts.patience, { size })),
  });
}

/** Chats in the SDK's default mode, which is Responses. */
export async function chatWithAiSdk(version, { generateText, streamText, createOpenAI }) {
  const model = createOpenAI({ apiKey: job.key, baseURL: job.url })('gpt-5.5');
  await report(version, {
    ask: async () => ({ text: (await generateText({ model, prompt: job.prompts.ask })).text }),
    askStream: async () => ({ text: await streamText({ model, prompt: job.prompts.askStream }).text }),
  });
}
