"""A visitor who speaks Streamlit's protocol: what a browser sends and gets, without the browser."""

import io
import time
import zipfile
from typing import Any, Self
from urllib.parse import urlsplit
from urllib.request import Request, urlopen
from uuid import uuid4

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import connect

PATIENCE = 1_800.0  # seconds; fifty visitors at once wait for each other
ENDED = ForwardMsg.ScriptFinishedStatus.Value("FINISHED_SUCCESSFULLY")


class Visitor:
    """One session of a served app; `heard` is every message and every download, in order."""

    def __init__(self, address: str) -> None:
        self.address, self.heard = address, []
        self.states: dict[str, WidgetState] = {}
        self.elements: dict[str, Any] = {}
        self.pages: dict[str, str] = {}
        self.at, self.session, self.working = "", "", False

    def __enter__(self) -> Self:
        index = f"ws://{urlsplit(self.address).netloc}/_stcore/stream"
        look: Any = {"subprotocols": ["streamlit"], "max_size": None, "open_timeout": PATIENCE, "ping_interval": None}
        self.line = connect(index, **look)
        self.socket = self.line.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.line.__exit__(None, None, None)

    def open(self, page: str) -> None:
        """Go to a page by its address, or by the menu once there is one."""
        self.at = page
        self.run()

    def run(self, trigger: WidgetState | None = None) -> None:
        """One run of the script, to its end, and more until no work is under way."""
        self.run_once(trigger)
        while self.working:
            time.sleep(0.5)
            self.run_once()

    def run_once(self, trigger: WidgetState | None = None) -> None:
        """One run of the script, to its end."""
        message = BackMsg()
        client = message.rerun_script
        client.page_script_hash = self.pages.get(self.at, "")
        client.page_name = "" if self.at in self.pages else self.at
        client.widget_states.widgets.extend([*self.states.values(), *([trigger] if trigger else [])])
        self.elements = {}
        self.socket.send(message.SerializeToString())
        begun = ended = False
        while not ended:
            found = self.hear()
            begun |= found.WhichOneof("type") == "new_session"
            ended = begun and found.WhichOneof("type") == "script_finished" and found.script_finished == ENDED

    def hear(self) -> ForwardMsg:
        raw = self.socket.recv(PATIENCE)
        assert isinstance(raw, bytes)
        self.heard.append(raw)
        found = ForwardMsg.FromString(raw)
        kind = found.WhichOneof("type")
        assert kind != "ref_hash"  # nothing was said to be cached here
        if kind == "new_session":
            self.working = False
            self.session = found.new_session.initialize.session_id
        elif kind == "navigation":
            self.pages = {page.url_pathname or "home": page.page_script_hash for page in found.navigation.app_pages}
        elif kind == "delta":
            self.keep(found.delta)
        return found

    def keep(self, delta: Any) -> None:
        """What is on the screen, by its widgets' keys; nothing is taken away before the next run."""
        if delta.WhichOneof("type") == "add_block":
            element = delta.add_block.tab_container
        elif delta.new_element.WhichOneof("type"):
            self.working |= delta.new_element.WhichOneof("type") == "progress"
            element = getattr(delta.new_element, delta.new_element.WhichOneof("type"))
        else:
            return
        assert getattr(element, "DESCRIPTOR", None) is None or element.DESCRIPTOR.name != "Exception", element
        if name := getattr(element, "id", ""):
            key = name.split("-", 2)[-1]
            self.elements.pop(key, None)
            self.elements[key] = element

    def element(self, key: str) -> Any:
        """The widget whose key is this, up to a colon; the last if there are several, as before and after a run."""
        found = [element for name, element in self.elements.items() if name.partition(":")[0] == key]
        assert found, (key, sorted(self.elements))
        return found[-1]

    def set(self, key: str, **value: Any) -> None:
        """Give a widget a value, as its field of WidgetState; the page runs."""
        name = self.element(key).id
        state = self.states[name] = WidgetState(id=name)
        for field, given in value.items():
            if field == "string_array_value":
                state.string_array_value.data.extend(given)
            else:
                setattr(state, field, given)
        self.run()

    def press(self, key: str) -> None:
        self.run(WidgetState(id=self.element(key).id, trigger_value=True))

    def upload(self, key: str, name: str, raw: bytes) -> None:
        """Hand a file over in place of the last one, which stays where it is: a browser would ask to forget it."""
        ask, widget = BackMsg(), self.element(key).id
        ask.file_urls_request.request_id = str(uuid4())
        ask.file_urls_request.file_names.append(name)
        ask.file_urls_request.session_id = self.session
        self.socket.send(ask.SerializeToString())
        while (text := self.hear()).WhichOneof("type") != "file_urls_response":
            pass
        (urls,) = text.file_urls_response.file_urls
        edge = uuid4().hex
        head = f'--{edge}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n\r\n'
        body = head.encode() + raw + f"\r\n--{edge}--\r\n".encode()
        form = {"Content-Type": f"multipart/form-data; boundary={edge}"}
        urlopen(Request(self.address + urls.upload_url, body, form, method="PUT"), timeout=PATIENCE).close()
        self.states[widget] = WidgetState(id=widget)
        info = self.states[widget].file_uploader_state_value.uploaded_file_info.add()
        info.name, info.size, info.file_id = name, len(raw), urls.file_id
        info.file_urls.CopyFrom(urls)
        self.run()

    def download(self, key: str) -> None:
        """Hear what a download button gives, and what is in it if it is a zip."""
        with urlopen(self.address + self.element(key).url, timeout=PATIENCE) as answer:
            self.heard.append(answer.read())
        if zipfile.is_zipfile(buffer := io.BytesIO(self.heard[-1])):
            with zipfile.ZipFile(buffer) as archive:
                self.heard += [archive.read(name) for name in archive.namelist()]
