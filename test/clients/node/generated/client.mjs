// A client that was generated from openapi.json: node client.mjs <openapi-fetch|hey-api|orval> <job>
import { fileOf, imageOf, job, report, variant, versionOf } from '../report.mjs';

const PACKAGES = { 'openapi-fetch': 'openapi-fetch', 'hey-api': '@hey-api/openapi-ts', orval: 'orval' };

const { connect } = await import(`./dist/js/calls/${variant}.js`);
// Paths of the document begin with /v1.
const calls = connect(new URL(job.url).origin, job.key);
const image = fileOf(job.images[0]);
const dataUrl = `data:image/png;base64,${Buffer.from(await image.arrayBuffer()).toString('base64')}`;
const { generation, edit, link, files, poll } = job.prompts;

await report(versionOf(import.meta.dirname, PACKAGES[variant]), {
  generation: async () => imageOf(await calls.generate(generation)),
  edit: async () => imageOf(await calls.edit(edit, [dataUrl])),
  link: async () => imageOf(await calls.edit(link, [await calls.upload(image)])),
  files: async () => imageOf(await calls.editFiles(files, job.images.map(fileOf), fileOf(job.mask))),
  poll: async () => imageOf(await calls.poll(poll)),
});
