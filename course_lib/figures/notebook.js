// What anywidget calls in a live notebook: the page's fragment and script, and models by the kernel.
export default {
  render({ model, el }) {
    el.append(document.createRange().createContextualFragment(fragment));
    const figure = el.querySelector("figure");
    figure.load = (file) => new Promise((done) => {
      function receive(message) {
        if (message.file !== file) return;
        model.off("msg:custom", receive);
        document.head.append(window.courseFigure.element("script", {}, message.text));
        done();
      }
      model.on("msg:custom", receive);
      model.send({ file });
    });
    begin(figure, shown, window.courseFigure);
  },
};
