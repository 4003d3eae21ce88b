import { errorWords, parsedError } from './error-body.js';
import { isModeration } from './moderation.js';

const isBlocked = (status: number, body: unknown): boolean =>
  isModeration(status, errorWords(parsedError(typeof body === 'string' ? body : JSON.stringify(body)).value));
const chinese = '系统检测到输入或生成内容可能包含不安全或敏感内容，请您避免输入易产生敏感内容的提示语。';

describe('a prompt that a vendor blocked', () => {
  it.each<[string, number, unknown]>([
    ['OpenAI', 400, { error: { code: 'moderation_blocked', type: 'image_generation_user_error', message: 'No.' } }],
    [
      'OpenAI, without a code',
      400,
      { error: { code: null, message: 'Your request was rejected by our safety system.' } },
    ],
    ['LiteLLM', 400, { error: { message: 'litellm.ContentPolicyViolationError: AzureException - No.', code: '400' } }],
    ['LiteLLM, quoting', 400, { error: { message: 'litellm.BadRequestError: {"code": "content_policy_violation"}' } }],
    ['Azure', 400, { error: { code: 'contentFilter', message: 'Your task failed as a result of our system.' } }],
    [
      'Azure, within',
      400,
      { error: { code: '400', message: 'No.', innererror: { code: 'ResponsibleAIPolicyViolation' } } },
    ],
    [
      'Azure, by its results',
      400,
      { error: { message: 'No.', inner_error: { content_filter_results: { hate: { filtered: true } } } } },
    ],
    ['new-api', 400, { error: { type: 'new_api_error', code: 'sensitive_words_detected', message: 'No.' } }],
    [
      'xAI',
      400,
      { code: 'Client specified an invalid argument', error: 'Generated image rejected by content moderation.' },
    ],
    ['xAI with 403', 403, { code: 'The caller does not have permission', error: 'Content violates usage guidelines.' }],
    ['Volcengine', 400, { error: { code: 'OutputImageSensitiveContentDetected', message: 'No.' } }],
    ['DashScope', 400, { code: 'DataInspectionFailed', message: 'Input data may contain inappropriate content.' }],
    ['DashScope, a job', 200, { output: { task_status: 'FAILED', code: 'DataInspectionFailed', message: 'No.' } }],
    ['Zhipu', 400, { contentFilter: [{ level: 1, role: 'user' }], error: { code: '1301', message: chinese } }],
    ['MiniMax', 200, { base_resp: { status_code: 1026, status_msg: 'input new_sensitive' } }],
    ['Tencent', 200, { Response: { Error: { Code: 'OperationDenied.TextIllegalDetected', Message: 'No.' } } }],
    ['Gemini, the prompt', 200, { promptFeedback: { blockReason: 'OTHER' } }],
    ['Gemini, the image', 200, { candidates: [{ finishReason: 'IMAGE_PROHIBITED_CONTENT', content: {} }] }],
    ['Gemini through OpenAI’s format', 400, [{ error: { code: 400, message: 'Blocked by safety filters.' } }]],
    ['fal', 422, { detail: [{ loc: ['body', 'prompt'], msg: 'No.', type: 'content_policy_violation' }] }],
    ['Replicate', 422, { detail: 'NSFW content detected. Try running it again, or try a different prompt.' }],
    ['Stability', 403, { id: 'x', name: 'content_moderation', errors: ['Your request was flagged by our system.'] }],
    ['BFL', 200, { id: 'x', status: 'Request Moderated', result: null }],
    ['OpenRouter', 403, { error: { code: 403, message: 'No.', metadata: { reasons: ['x'], flagged_input: 'y' } } }],
    [
      'OpenRouter, quoting',
      400,
      { error: { message: 'Provider returned error', metadata: { raw: '{"error":{"code":"content_filter"}}' } } },
    ],
    ['plain text', 400, 'The prompt was flagged as violating our content policy.'],
    ['JSON that was cut off', 400, `{"error":{"code":"content_filter","message":"No.","more":"${'x'.repeat(99)}`],
  ])('is known: %s', (_vendor, status, body) => {
    expect(isBlocked(status, body)).toBe(true);
  });

  it.each<[string, number, unknown]>([
    ['a field of that name', 400, { error: { message: "Unknown parameter: 'moderation'.", param: 'moderation' } }],
    [
      'a value of a field',
      422,
      { detail: [{ loc: ['body', 'safety_tolerance'], msg: 'at most 6', type: 'less_than' }] },
    ],
    ['a switch', 400, { error: { message: 'enable_safety_checker is not permitted', code: 'invalid_safety_checker' } }],
    ['letters', 400, { error: { message: 'Model names are case-sensitive.' } }],
    [
      'filters without a finding',
      400,
      { error: { message: 'No.', content_filter_results: { hate: { filtered: false } } } },
    ],
    ['a request that is quoted', 422, { detail: [{ loc: ['body'], msg: 'No.', input: { prompt: 'nsfw content' } }] }],
    ['an account', 403, { error: { message: 'Your account was disabled for violating our usage policies.' } }],
    ['a key', 401, { error: { message: 'This key was flagged by our safety system.' } }],
    ['a rate', 429, { error: { message: 'Too many requests were flagged by our safety system.' } }],
    ['a failing server', 500, { error: { code: 'content_filter', message: 'The content filter failed.' } }],
    ['another bad request', 400, { error: { message: 'Invalid size.', code: 'invalid_value' } }],
  ])('is not mistaken: %s', (_what, status, body) => {
    expect(isBlocked(status, body)).toBe(false);
  });

  it('is searched in bounded time, however long and deep a body is', () => {
    let deep: unknown = { code: 'content_filter' };
    for (let n = 0; n < 5_000; n++) deep = { error: deep };
    expect(isModeration(400, errorWords(deep))).toBe(false);
    const wide = { errors: Array.from({ length: 100_000 }, () => 'x'), error: { code: 'content_filter' } };
    expect(errorWords(wide).texts.length).toBeLessThan(500);
  });
});
