// openai-node: node client.mjs <4.20|6|7> <job>
import { fileOf, imageOf, insist, job, report, variant, versionOf } from '../report.mjs';

const name = `openai-${variant}`;
const { default: OpenAI } = await import(name);

const openai = new OpenAI({ apiKey: job.key, baseURL: job.url });
const stranger = new OpenAI({ apiKey: 'sk-nobody', baseURL: job.url });
const model = 'gpt-image-2';
const [image, second] = job.images.map(fileOf);
const mask = fileOf(job.mask);

const first = async (answer) => imageOf((await answer).data[0]);
const generate = (prompt, more) => openai.images.generate({ model, prompt, ...more });
const edit = (prompt, more) => openai.images.edit({ model, prompt, image, ...more });

async function events(stream) {
  const types = [];
  let last;
  for await (const event of await stream) {
    types.push(event.type);
    last = event;
  }
  return { types, ...(await imageOf({ b64_json: last.b64_json })) };
}

await report(versionOf(import.meta.dirname, name), {
  models: async () => (await openai.models.list()).data.map(({ id }) => id),
  generation: () => first(generate(job.prompts.generation)),
  edit: () => first(edit(job.prompts.edit)),
  files: () => first(edit(job.prompts.files, { image: [image, second] })),
  mask: () => first(edit(job.prompts.mask, { mask, size: '1024x1024' })),
  // Before streams of images there was nothing to read them with.
  ...(variant === '4.20'
    ? {}
    : {
        stream: () => events(generate(job.prompts.stream, { stream: true, size: '1024x1024' })),
        editStream: () => events(edit(job.prompts.editStream, { stream: true, size: '1024x1024' })),
      }),
  refused: () => generate('a house', { size: 'huge' }),
  stranger: () => stranger.images.generate({ model, prompt: 'a house' }),
  cut: () => first(generate(job.prompts.cut, { size: '1024x1024' })),
  badGateway: () => first(generate(job.prompts.badGateway, { size: '1024x1024' })),
  patience: () => insist(() => first(generate(job.prompts.patience, { size: '1024x1024' }))),
  editPatience: () => insist(() => first(edit(job.prompts.editPatience, { size: '1024x1024' }))),
});
