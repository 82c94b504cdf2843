"""One module for each library: `converse(talk)` runs a conversation and returns the final texts."""

import base64

SYSTEM = "You are a travel assistant. 你是一名旅行助理。"


class Talk:
    """The task of a client, and the number of streamed text fragments that it received."""

    def __init__(self, asked):
        self.variant = asked["variant"]
        self.base = asked["base"]
        self.key = asked["key"]
        self.model = asked["model"]
        self.stream = asked["stream"]
        self.prompts = asked["prompts"]
        self.image = base64.b64decode(asked["image"])
        self.pieces = 0

    @property
    def image_url(self):
        """The image as a data URL."""
        return "data:image/png;base64," + base64.b64encode(self.image).decode()

    @property
    def aws_keys(self):
        """The client's key as a pair, for AWS signatures."""
        return self.key.split(":")


def get_weather(city: str, unit: str = "celsius") -> str:
    """Get the current weather for a city. 查询指定城市的当前天气。"""
    return f"{city}: 21 degrees {unit}, 晴"


def search_flights(origin: str, destination: str, passengers: list[str]) -> str:
    """Search one-way flights between two airports. 搜索两个机场之间的航班。"""
    raise ValueError(f"no flights to {destination}")
