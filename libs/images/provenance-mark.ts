const SOURCE_TYPES = 'http://cv.iptc.org/newscodes/digitalsourcetype/';

/** What a mark tells of an image. Ids and names hold no characters that XML gives a meaning. */
export interface ProvenanceMark {
  readonly taskId: string;
  readonly action: 'generation' | 'edit';
  /** Name and version of the product. */
  readonly tool: string;
}

/**
 * XMP that says that a model made the image: what IPTC calls the digital source type, which search engines and
 * platforms read. It names the task and nothing of who asked for what.
 */
export function markXmp({ taskId, action, tool }: ProvenanceMark): string {
  const source = action === 'edit' ? 'compositeWithTrainedAlgorithmicMedia' : 'trainedAlgorithmicMedia';
  return [
    '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>',
    '<x:xmpmeta xmlns:x="adobe:ns:meta/">',
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">',
    '<rdf:Description rdf:about=""',
    ' xmlns:xmp="http://ns.adobe.com/xap/1.0/"',
    ' xmlns:dc="http://purl.org/dc/elements/1.1/"',
    ' xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"',
    ` xmp:CreatorTool="${tool}"`,
    ` dc:identifier="${taskId}"`,
    ` Iptc4xmpExt:DigitalSourceType="${SOURCE_TYPES}${source}"/>`,
    '</rdf:RDF>',
    '</x:xmpmeta>',
    '<?xpacket end="r"?>',
  ].join('\n');
}
