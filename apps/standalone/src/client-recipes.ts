import { textTable } from './text-table.js';

/** What a user enters in a client: where, and a label and a value for each field. docs/clients.md says more. */
interface Recipe {
  readonly client: string;
  readonly where: string;
  readonly fields: (url: string, key: string) => readonly (readonly [label: string, value: string])[];
}

const MODEL = 'gpt-image-2';

/** No client needs a setting of its key: an image comes as link and as base64, and sizes may be pixels. */
const RECIPES: Readonly<Record<string, Recipe>> = {
  openwebui: {
    client: 'Open WebUI',
    where: 'Admin Panel > Settings > Images, for Create Image and for Edit Image',
    fields: (url, key) => [
      ['Engine', 'Open AI'],
      ['API Base URL', url],
      ['API Key', key],
      ['Model', MODEL],
      ['Image Size', '1024x1024, or another <width>x<height>'],
    ],
  },
  librechat: {
    client: 'LibreChat',
    where: '.env; then add OpenAI Image Tools to an agent',
    fields: (url, key) => [
      ['IMAGE_GEN_OAI_BASEURL', url],
      ['IMAGE_GEN_OAI_API_KEY', key],
      ['IMAGE_GEN_OAI_MODEL', MODEL],
    ],
  },
  lobechat: {
    client: 'LobeChat',
    where: 'environment of the server, or Settings > AI Service Provider > OpenAI',
    fields: (url, key) => [
      ['OPENAI_PROXY_URL', url],
      ['OPENAI_API_KEY', key],
      ['Model', MODEL],
    ],
  },
  n8n: {
    client: 'n8n',
    where: 'a credential of the type OpenAI; then the OpenAI node, resource Image',
    fields: (url, key) => [
      ['Base URL', url],
      ['API Key', key],
      ['Model', `${MODEL} (From List)`],
    ],
  },
  'ai-sdk': {
    client: 'the AI SDK',
    where: 'createOpenAI or createOpenAICompatible; then generateImage with model: provider.imageModel(...)',
    fields: (url, key) => [
      ['baseURL', url],
      ['apiKey', key],
      ['imageModel', MODEL],
    ],
  },
  langchain: {
    client: 'LangChain',
    where: 'new DallEAPIWrapper({ ... }) of @langchain/openai',
    fields: (url, key) => [
      ['baseUrl', url],
      ['apiKey', key],
      ['model', MODEL],
    ],
  },
  dify: {
    client: 'Dify',
    where: "the OpenAI tool plugin's authorization; then its GPT Image 2 tools",
    fields: (url, key) => [
      ['OpenAI base URL', url],
      ['OpenAI API key', key],
      ['Model', MODEL],
    ],
  },
  'cherry-studio': {
    client: 'Cherry Studio',
    where: 'Settings > Model Provider > Add, provider type New API',
    fields: (url, key) => [
      ['API Host', url.replace(/\/v1$/, '')],
      ['API Key', key],
      ['Model', `${MODEL}, endpoint type Image Generation`],
    ],
  },
};

/** Clients that there is a recipe for. */
export const RECIPE_CLIENTS: readonly string[] = Object.keys(RECIPES);

/** What to enter where; `address` is where clients reach the API, without /v1, or undefined when nothing says so. */
export function recipeText(name: string, address: string | undefined, key: string): string {
  const recipe = RECIPES[name];
  if (recipe === undefined) return '';
  const url = `${address?.replace(/\/$/, '') ?? 'http://<address of Darkroom>'}/v1`;
  return `Enter in ${recipe.client} (${recipe.where}):\n\n${textTable(recipe.fields(url, key))}\n\nMore: docs/clients.md`;
}
