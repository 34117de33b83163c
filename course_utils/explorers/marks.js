// Marks of an SVG picture that changes often.

/**
 * Make the children of an SVG element those of a list of [tag, attributes, text or such a list].
 * A child with the right tag is used again, because a changed node costs less than a new one; so
 * all of one tag need the same attributes.
 */
function redraw(parent, wanted) {
  wanted.forEach(([tag, attributes, content = ""], index) => {
    let node = parent.childNodes[index];
    if (node?.tagName !== tag) {
      const made = draw(tag);
      if (node) node.replaceWith(made);
      else parent.append(made);
      node = made;
    }
    for (const [name, value] of Object.entries(attributes)) setOne(node, name, value);
    if (Array.isArray(content)) redraw(node, content);
    else setText(node, content);
  });
  while (parent.childNodes.length > wanted.length) parent.lastChild.remove();
}
